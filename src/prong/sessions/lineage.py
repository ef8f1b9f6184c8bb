"""Who was forked from whom, as trees.

The session files come first: they are the agents' own word, and they stay when state.db is lost. A
recorded fork speaks only of a session whose file names no parent, or is gone. So everything that
prong makes is drawn the same with state.db and without it, as long as the files are there.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from prong.model.forks import Fork, ForkPoint, Method
from prong.model.record import Record, field
from prong.model.sessions import Session, SessionRef

_NOBODY_KNOWS = datetime.fromtimestamp(0, UTC)


class LineageNode(Record):
    """A session in a tree. `session` is None when the agent has deleted it."""

    ref: SessionRef
    session: Session | None
    turn: int | None
    """The turn of its parent that it was forked at; None for a root, or when it has no number."""
    children: list["LineageNode"] = field(default_factory=list["LineageNode"])


class Forest(Record):
    roots: list[LineageNode]
    refs: tuple[SessionRef, ...] = ()
    """All sessions, drawn or not: a short name must fit but one."""


def forest(
    sessions: Iterable[Session],
    of: Session | None = None,
    *,
    everything: bool = False,
    recorded: Iterable[Fork] = (),
) -> Forest:
    """The trees of all forked sessions, or the one that `of` is in.

    Sessions are drawn, and those that they came from. A recorded fork that has no session file is
    not: it was deleted with all that came of it, or the agent was never started on it.
    """
    known = {session.ref: session for session in sessions}
    if of is not None:
        known.setdefault(of.ref, of)
    recorded = list(recorded)
    links = _links(known, recorded)
    _add_recorded(links, recorded)
    nodes = {ref: _node(ref, session, links) for ref, session in known.items()}
    roots: list[LineageNode] = []
    for node in list(nodes.values()):
        root = _hang(node, nodes, links)
        if root is not None:
            roots.append(root)
    for node in nodes.values():
        node.children.sort(key=lambda child: (child.turn or 0, _started(child)))
    if of is not None:
        top = _top(of.ref, links)
        return Forest([root for root in roots if root.ref == top], tuple(nodes))
    return Forest([root for root in roots if everything or root.children], tuple(nodes))


def rebuild(sessions: Iterable[Session]) -> list[Fork]:
    """The forks that session files tell of, for a state.db that was lost.

    Files do not tell the token estimate and the window, the id of the turn, whether the answer to
    a seed was filtered, and whether a copy was made by prong or by the agent: all of them are
    copies then. `created` is exact for a seed only; for a copy it is when the session was last
    written, because its first lines have the times of its parent.
    """
    known = {session.ref: session for session in sessions}
    forks: list[Fork] = []
    for ref, (parent, turn) in _links(known, ()).items():
        child = known[ref]
        seed = child.forked_at is not None and child.inherited == 0
        times = (child.started, child.updated) if seed else (child.updated, child.started)
        forks.append(
            Fork(
                id=str(ref),  # the same each time
                parent=ForkPoint(parent, turn),
                parent_workspace=known[parent].cwd if parent in known else None,
                child=ref,
                method=Method.SEED if seed else Method.COPY,
                created=times[0] or times[1] or _NOBODY_KNOWS,
                tokens=0,
            )
        )
    return forks


class _Link(NamedTuple):
    """From a session to the one that it came from."""

    parent: SessionRef
    turn: int | None


_Links = dict[SessionRef, _Link]


def _links(sessions: Mapping[SessionRef, Session], recorded: Iterable[Fork]) -> _Links:
    """What the files tell. Loops, which only damaged files can claim, are left out."""
    there = _Names(sessions)
    gone = _Names(fork.parent.session for fork in recorded)
    links: _Links = {}
    for ref, session in sessions.items():
        parent = session.parent
        if parent is not None:
            at = session.inherited if session.forked_at is None else session.forked_at
            links[ref] = _Link(there.find(parent) or gone.find(parent) or parent, at)
    looping = {ref for ref, link in links.items() if _descends(link.parent, ref, links)}
    return {ref: link for ref, link in links.items() if ref not in looping}


class _Names:
    """Finds a session by what a file calls it.

    A file may name no agent: then the fork of another agent's session seems to be of its own.
    """

    def __init__(self, refs: Iterable[SessionRef]) -> None:
        self._refs = set(refs)
        self._by_id = {ref.id: ref for ref in sorted(self._refs)}

    def find(self, name: SessionRef) -> SessionRef | None:
        return name if name in self._refs else self._by_id.get(name.id)


def _add_recorded(links: _Links, recorded: Iterable[Fork]) -> None:
    """Add what was recorded of sessions that no file tells a parent of."""
    for fork in recorded:
        parent, turn = fork.parent.session, fork.parent.turn
        # A fork from before the first turn has nothing of its parent: in the files it is none.
        if turn == 0 or fork.child in links or _descends(parent, fork.child, links):
            continue
        links[fork.child] = _Link(parent, turn)


def _node(ref: SessionRef, session: Session | None, links: _Links) -> LineageNode:
    link = links.get(ref)
    return LineageNode(ref, session, link.turn if link else None)


def _hang(
    node: LineageNode, nodes: dict[SessionRef, LineageNode], links: _Links
) -> LineageNode | None:
    """Put a node under its parent. Gives a root back: itself, or an ancestor that is gone."""
    while (link := links.get(node.ref)) is not None:
        parent = nodes.get(link.parent)
        if parent is not None:
            parent.children.append(node)
            return None
        parent = nodes[link.parent] = _node(link.parent, None, links)
        parent.children.append(node)
        node = parent
    return node


def _descends(ref: SessionRef, ancestor: SessionRef, links: _Links) -> bool:
    """True when `ancestor` is the session itself or above it."""
    seen: set[SessionRef] = set()
    while ref != ancestor:
        seen.add(ref)
        link = links.get(ref)
        if link is None or link.parent in seen:
            return False
        ref = link.parent
    return True


def _top(ref: SessionRef, links: _Links) -> SessionRef:
    while ref in links:
        ref = links[ref].parent
    return ref


def _started(node: LineageNode) -> str:
    started = node.session.started if node.session else None
    return started.isoformat() if started else ""


Name = tuple[str, str]
"""Agent and id."""


def family_of(session: Session, sessions: Mapping[Name, Session]) -> Name:
    """The session at the root of the lineage."""
    name = (session.agent, session.id)
    seen = {name}
    while session.parent is not None:
        above = (session.parent.agent, session.parent.id)
        if above in seen or above not in sessions:
            break
        seen.add(above)
        name, session = above, sessions[above]
    return name
