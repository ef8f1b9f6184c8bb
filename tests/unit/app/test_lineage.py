"""Trees of forks from flat sessions."""

from prong.app.lineage import Forest, Node, forest
from prong.model import Session, SessionRef


def ref(name: str) -> SessionRef:
    return SessionRef("claude", name)


def session(name: str, parent: str | None = None, inherited: int = 0) -> Session:
    return Session(
        ref(name), f"/{name}", name, parent=ref(parent) if parent else None, inherited=inherited
    )


def drawn(trees: Forest) -> list[object]:
    def one(node: Node) -> object:
        name = node.ref.id + ("" if node.session else "?")
        at = "" if node.turn is None else f"@{node.turn}"
        below = [one(child) for child in node.children]
        return [name + at, *below] if below else name + at

    return [one(root) for root in trees.roots]


def test_only_families_unless_all_are_wanted() -> None:
    sessions = [session("a"), session("b", "a", 2), session("alone")]
    assert drawn(forest(sessions)) == [["a", "b@2"]]
    assert drawn(forest(sessions, everything=True)) == [["a", "b@2"], "alone"]


def test_the_order_of_the_sessions_does_not_matter() -> None:
    sessions = [session("c", "b", 3), session("b", "a", 2), session("a")]
    assert drawn(forest(sessions)) == [["a", ["b@2", "c@3"]]]


def test_children_by_the_turn_they_left_at() -> None:
    sessions = [session("a"), session("late", "a", 9), session("early", "a", 1)]
    assert drawn(forest(sessions)) == [["a", "early@1", "late@9"]]


def test_the_family_of_one() -> None:
    b = session("b", "a", 1)
    sessions = [session("a"), b, session("c"), session("d", "c", 1)]
    assert drawn(forest(sessions, b)) == [["a", "b@1"]]


def test_a_session_from_outside_of_the_roots() -> None:
    visitor = session("visitor", "a", 1)
    assert drawn(forest([session("a")], visitor)) == [["a", "visitor@1"]]


def test_a_deleted_parent_holds_its_children_together() -> None:
    sessions = [session("b", "gone", 1), session("c", "gone", 2)]
    assert drawn(forest(sessions)) == [["gone?", "b@1", "c@2"]]


def test_loops_are_cut() -> None:
    sessions = [session("a", "b", 1), session("b", "a", 1), session("c", "a", 1)]
    assert drawn(forest(sessions, everything=True)) == [["a", "c@1"], "b"]
    assert drawn(forest([session("a", "a", 1)], everything=True)) == ["a"]
