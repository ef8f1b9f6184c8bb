"""Trees of forks from flat sessions."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prong.model.forks import Fork, ForkPoint, Method
from prong.model.sessions import Session, SessionRef
from prong.session.lineage import Forest, LineageNode, forest, rebuild

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def ref(name: str, agent: str = "claude") -> SessionRef:
    return SessionRef(agent, name)


def session(
    name: str, parent: str | None = None, inherited: int = 0, agent: str = "claude", **facts: Any
) -> Session:
    """A file names its parent by id; its agent is taken to be the same."""
    named = ref(parent, agent) if parent else None
    return Session(ref(name, agent), f"/{name}", name, parent=named, inherited=inherited, **facts)


def record(child: SessionRef, parent: SessionRef, turn: int | None = 7) -> Fork:
    return Fork(
        f"fork of {child}", ForkPoint(parent, turn, "t"), None, child, Method.COPY, NOW, tokens=1
    )


def drawn(trees: Forest) -> list[object]:
    def one(node: LineageNode) -> object:
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


# -- what the files tell ------------------------------------------------------------------------


def test_a_seed_stands_at_the_turn_that_it_names() -> None:
    sessions = [session("a"), session("seed", "a", forked_at=5), session("copy", "a", 3)]
    assert drawn(forest(sessions)) == [["a", "copy@3", "seed@5"]]


def test_a_compacted_copy_has_fewer_turns_than_the_turn_it_was_forked_at() -> None:
    sessions = [session("a"), session("b", "a", 2, forked_at=12)]
    assert drawn(forest(sessions)) == [["a", "b@12"]]


def test_a_parent_of_another_agent_is_found_by_its_id() -> None:
    sessions = [session("a"), session("b", "a", 2, "codex"), session("c", "b", 1)]
    assert drawn(forest(sessions)) == [["a", ["b@2", "c@1"]]]
    [root] = forest(sessions).roots
    assert [root.ref, root.children[0].ref] == [ref("a"), ref("b", "codex")]


def test_the_own_agent_comes_first() -> None:
    sessions = [session("a"), session("a", agent="codex"), session("b", "a", 1, "codex")]
    [root] = forest(sessions).roots
    assert root.ref == ref("a", "codex")


# -- what was recorded ---------------------------------------------------------------------------


def test_the_files_come_first() -> None:
    sessions = [session("a"), session("other"), session("b", "a", 2)]
    recorded = [record(ref("b"), ref("other"))]
    assert drawn(forest(sessions, recorded=recorded)) == [["a", "b@2"]]


def test_a_record_tells_what_no_file_does() -> None:
    sessions = [session("a"), session("b")]
    recorded = [record(ref("b"), ref("a"))]
    assert drawn(forest(sessions, recorded=recorded)) == [["a", "b@7"]]
    assert drawn(forest(sessions, sessions[1], recorded=recorded)) == [["a", "b@7"]]


def test_a_record_without_a_number() -> None:
    recorded = [record(ref("b"), ref("a"), None)]
    assert drawn(forest([session("a"), session("b")], recorded=recorded)) == [["a", "b"]]


def test_a_fork_that_was_not_started_is_not_drawn() -> None:
    recorded = [record(ref("not started"), ref("a")), record(ref("x"), ref("y"))]
    assert drawn(forest([session("a")], recorded=recorded)) == []
    assert drawn(forest([session("a")], everything=True, recorded=recorded)) == ["a"]


def test_a_fork_from_before_the_first_turn_is_a_session_like_any_other() -> None:
    recorded = [record(ref("b"), ref("a"), 0)]
    sessions = [session("a"), session("b")]
    assert drawn(forest(sessions, everything=True, recorded=recorded)) == ["a", "b"]


def test_a_deleted_session_in_the_middle_keeps_its_place() -> None:
    sessions = [session("a"), session("c", "b", 2)]
    assert drawn(forest(sessions)) == [["b?", "c@2"]]
    recorded = [record(ref("b"), ref("a"), 1)]
    assert drawn(forest(sessions, recorded=recorded)) == [["a", ["b?@1", "c@2"]]]


def test_the_agent_of_a_deleted_parent_is_in_the_record() -> None:
    recorded = [record(ref("b", "codex"), ref("a"))]
    [root] = forest([session("b", "a", 2, "codex")], recorded=recorded).roots
    assert (root.ref, root.session) == (ref("a"), None)


def test_a_record_does_not_turn_the_word_of_a_file_into_a_loop() -> None:
    sessions = [session("a"), session("b", "a", 2)]
    recorded = [record(ref("a"), ref("b")), record(ref("a"), ref("a"))]
    assert drawn(forest(sessions, recorded=recorded)) == [["a", "b@2"]]


# -- rebuilding ----------------------------------------------------------------------------------


def test_rebuilt_forks() -> None:
    later = datetime(2026, 3, 2, tzinfo=UTC)
    times: dict[str, Any] = {"started": NOW, "updated": later}
    sessions = [
        session("a", cwd="/shop"),
        session("copy", "a", 3, **times),
        session("seed", "a", 0, "codex", forked_at=5, **times),
        session("orphan", "gone", 2),
        session("alone"),
    ]
    copy, seed, orphan = rebuild(sessions)
    assert copy.parent == ForkPoint(ref("a"), 3)
    assert (copy.child, copy.parent_workspace) == (ref("copy"), "/shop")
    assert (copy.method, copy.created, copy.tokens) == (Method.COPY, later, 0)
    assert seed.parent == ForkPoint(ref("a"), 5)
    assert (seed.child, seed.method, seed.created) == (ref("seed", "codex"), Method.SEED, NOW)
    assert (orphan.parent.session, orphan.parent_workspace) == (ref("gone"), None)
    assert len({one.id for one in (copy, seed, orphan)}) == 3
    assert rebuild(sessions) == [copy, seed, orphan]


def test_nothing_is_rebuilt_from_loops() -> None:
    assert rebuild([session("a", "b", 1), session("b", "a", 1)]) == []


# -- whatever is claimed -------------------------------------------------------------------------

REFS = st.builds(ref, st.sampled_from("abcde"), st.sampled_from(["claude", "codex"]))
NUMBERS = st.none() | st.integers(0, 3)
SESSIONS = st.lists(
    st.builds(
        Session,
        REFS,
        st.just("/file"),
        st.just("title"),
        parent=st.none() | REFS,
        inherited=st.integers(0, 3),
        forked_at=NUMBERS,
    ),
    unique_by=lambda one: one.ref,
)
RECORDS = st.lists(st.builds(record, REFS, REFS, NUMBERS))


def nodes(trees: Forest) -> Iterator[LineageNode]:
    waiting = list(trees.roots)
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


@given(SESSIONS, RECORDS)
def test_every_session_is_drawn_once(sessions: list[Session], recorded: list[Fork]) -> None:
    trees = forest(sessions, everything=True, recorded=recorded)
    found = [node.ref for node in nodes(trees)]
    assert len(found) == len(set(found))
    assert {one.ref for one in sessions} <= set(found)
    assert set(found) == set(trees.refs)
    for node in nodes(trees):
        assert node.children or node.session, "a session that is gone only holds others together"
    for root in trees.roots:
        assert root.turn is None


@given(SESSIONS, RECORDS)
def test_the_family_of_one_is_one_of_the_trees(
    sessions: list[Session], recorded: list[Fork]
) -> None:
    whole = forest(sessions, everything=True, recorded=recorded)
    for one in sessions:
        [root] = forest(sessions, one, recorded=recorded).roots
        assert drawn(Forest([root])) in [drawn(Forest([tree])) for tree in whole.roots]
        assert one.ref in {node.ref for node in nodes(Forest([root]))}


@given(SESSIONS, RECORDS)
def test_what_a_file_tells_is_drawn_whatever_was_recorded(
    sessions: list[Session], recorded: list[Fork]
) -> None:
    def links(trees: Forest) -> set[tuple[str, str, int | None]]:
        return {
            (node.ref.id, child.ref.id, child.turn)
            for node in nodes(trees)
            for child in node.children
        }

    alone = links(forest(sessions, everything=True))
    assert alone <= links(forest(sessions, everything=True, recorded=recorded))


@given(SESSIONS)
def test_rebuilt_records_change_nothing(sessions: list[Session]) -> None:
    alone = drawn(forest(sessions, everything=True))
    assert drawn(forest(sessions, everything=True, recorded=rebuild(sessions))) == alone
