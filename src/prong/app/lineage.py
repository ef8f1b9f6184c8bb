"""Who was forked from whom, as trees."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from prong.model import Session, SessionRef


@dataclass
class Node:
    """A session in a tree. `session` is None when the agent has deleted it."""

    ref: SessionRef
    session: Session | None
    turn: int | None
    """The last turn it has in common with its parent; None for a root."""
    children: list["Node"] = field(default_factory=list["Node"])


@dataclass
class Forest:
    roots: list[Node]
    refs: tuple[SessionRef, ...] = ()
    """All sessions, drawn or not: a short name must fit but one."""


def forest(
    sessions: Iterable[Session], of: Session | None = None, *, everything: bool = False
) -> Forest:
    """The trees of all forked sessions, or the one that `of` is in."""
    nodes: dict[SessionRef, Node] = {}
    for session in sessions:
        at = session.inherited if session.parent else None
        nodes[session.ref] = Node(session.ref, session, at)
    if of is not None and of.ref not in nodes:
        nodes[of.ref] = Node(of.ref, of, of.inherited if of.parent else None)
    roots: list[Node] = []
    for node in list(nodes.values()):
        parent = node.session.parent if node.session else None
        if parent is None or _descends(parent, node.ref, nodes):
            node.turn = None
            roots.append(node)
            continue
        if parent not in nodes:
            nodes[parent] = Node(parent, None, None)
            roots.append(nodes[parent])
        nodes[parent].children.append(node)
    for node in nodes.values():
        node.children.sort(key=lambda child: (child.turn or 0, _started(child)))
    if of is not None:
        return Forest([root for root in roots if _holds(root, of.ref)], tuple(nodes))
    return Forest([root for root in roots if everything or root.children], tuple(nodes))


def _descends(ref: SessionRef, ancestor: SessionRef, nodes: dict[SessionRef, Node]) -> bool:
    """True when `ancestor` is above: a loop of parents, which only a damaged file can claim."""
    seen: set[SessionRef] = set()
    current: SessionRef | None = ref
    while current is not None and current not in seen:
        if current == ancestor:
            return True
        seen.add(current)
        node = nodes.get(current)
        current = node.session.parent if node and node.session else None
    return False


def _holds(root: Node, ref: SessionRef) -> bool:
    return root.ref == ref or any(_holds(child, ref) for child in root.children)


def _started(node: Node) -> str:
    started = node.session.started if node.session else None
    return started.isoformat() if started else ""
