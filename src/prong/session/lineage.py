"""Lineage: trees of which session was forked from which.

Session files take precedence: they are the agents' own data, and survive the loss of state.db. A
recorded fork counts only for a session whose file is missing or names no parent. So prong's
own forks are drawn the same with and without state.db, as long as the files exist.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from itertools import chain
from typing import NamedTuple

from prong.model.forks import Fork, ForkPoint, Method
from prong.model.record import Record, field
from prong.model.sessions import Session, SessionRef

_NOBODY_KNOWS = datetime.fromtimestamp(0, UTC)


class LineageNode(Record):
    """A session in a tree; `session` is None if it was deleted."""

    ref: SessionRef
    session: Session | None
    turn: int | None
    """The parent's turn it was forked at; None for a root, or without a number."""
    children: list["LineageNode"] = field(default_factory=list["LineageNode"])


class Forest(Record):
    roots: list[LineageNode]
    refs: tuple[SessionRef, ...] = ()
    """All sessions, shown or not, so that a short id is unique."""


def forest(
    sessions: Iterable[Session],
    of: Session | None = None,
    *,
    everything: bool = False,
    recorded: Iterable[Fork] = (),
) -> Forest:
    """Build the trees of all forked sessions, or the one that contains `of`.

    They contain sessions and their ancestors. A recorded fork without a session file is left out:
    it was deleted, or the agent was never started on it.
    """
    by_ref = {session.ref: session for session in sessions}
    if of is not None:
        by_ref.setdefault(of.ref, of)
    recorded = list(recorded)
    links = _links(by_ref, recorded)
    for fork in recorded:
        parent, turn = fork.parent.session, fork.parent.turn
        # A fork before the first turn shares nothing with its parent; files do not link it.
        if turn != 0 and fork.child not in links and fork.child not in _line(parent, links):
            links[fork.child] = _Link(parent, turn)
    lines = {ref: _line(ref, links) for ref in by_ref}
    # Deleted ancestors have a node, too.
    refs = dict.fromkeys((*by_ref, *chain.from_iterable(lines.values())))
    nodes = {ref: _node(ref, by_ref.get(ref), links) for ref in refs}
    for ref, node in nodes.items():
        if ref in links:
            nodes[links[ref].parent].children.append(node)
    for node in nodes.values():
        node.children.sort(key=lambda child: (child.turn or 0, _started(child)))
    if of is not None:
        return Forest([nodes[lines[of.ref][-1]]], tuple(nodes))
    # In the order of the sessions; a deleted root at its first descendant.
    tops = dict.fromkeys(
        line[-1] for line in lines.values() if len(line) == 1 or line[-1] not in by_ref
    )
    roots = [nodes[top] for top in tops if everything or nodes[top].children]
    return Forest(roots, tuple(nodes))


def rebuild(sessions: Iterable[Session]) -> list[Fork]:
    """Reconstruct fork records from session files after state.db was lost.

    Files lack the token estimate, the window, the turn id, whether a seed's reply was filtered, and
    whether prong or the agent made a copy, so native forks count as copies. `created` is exact only
    for a seed; for a copy it is the last write, because its first lines have its parent's times.
    """
    by_ref = {session.ref: session for session in sessions}
    forks: list[Fork] = []
    for ref, (parent, turn) in _links(by_ref, ()).items():
        child = by_ref[ref]
        seed = child.forked_at is not None and child.inherited == 0
        times = (child.started, child.updated) if seed else (child.updated, child.started)
        forks.append(
            Fork(
                id=str(ref),  # stable across rebuilds
                parent=ForkPoint(parent, turn),
                parent_workspace=by_ref[parent].cwd if parent in by_ref else None,
                child=ref,
                method=Method.SEED if seed else Method.COPY,
                created=times[0] or times[1] or _NOBODY_KNOWS,
                tokens=0,
            )
        )
    return forks


class _Link(NamedTuple):
    """A link from a session to its parent."""

    parent: SessionRef
    turn: int | None


_Links = dict[SessionRef, _Link]


def _links(sessions: Mapping[SessionRef, Session], recorded: Iterable[Fork]) -> _Links:
    """Collect the parent links from session files, without the loops of damaged files."""
    present = _finder(sessions)
    former = _finder(fork.parent.session for fork in recorded)
    links: _Links = {}
    for ref, session in sessions.items():
        parent = session.parent
        if parent is not None:
            turn = session.inherited if session.forked_at is None else session.forked_at
            links[ref] = _Link(present(parent) or former(parent) or parent, turn)
    looping = {ref for ref, link in links.items() if ref in _line(link.parent, links)}
    return {ref: link for ref, link in links.items() if ref not in looping}


def _finder(refs: Iterable[SessionRef]) -> Callable[[SessionRef], SessionRef | None]:
    """Look up sessions by the name in a file, whose agent may be missing or wrong."""
    known = set(refs)
    by_id = {ref.id: ref for ref in sorted(known)}
    return lambda name: name if name in known else by_id.get(name.id)


def _node(ref: SessionRef, session: Session | None, links: _Links) -> LineageNode:
    return LineageNode(ref, session, links[ref].turn if ref in links else None)


def _line(ref: SessionRef, links: _Links) -> list[SessionRef]:
    """List a session and its ancestors, nearest first, up to where a loop would close."""
    line = {ref: None}
    while ref in links and links[ref].parent not in line:
        ref = links[ref].parent
        line[ref] = None
    return list(line)


def _started(node: LineageNode) -> str:
    started = node.session.started if node.session else None
    return started.isoformat() if started else ""


Name = tuple[str, str]
"""Agent and id."""


def family_of(session: Session, sessions: Mapping[Name, Session]) -> Name:
    """Find the session at the root of the lineage."""
    name = (session.agent, session.id)
    seen = {name}
    while session.parent is not None:
        parent = (session.parent.agent, session.parent.id)
        if parent in seen or parent not in sessions:
            break
        seen.add(parent)
        name, session = parent, sessions[parent]
    return name
