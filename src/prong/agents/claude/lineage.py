"""Find which session was forked from which.

`/fork` records parent and position beside its job (in `jobs`), which is the best evidence.
`/branch` and SDK forks name their source. `--fork-session` does not: the copy only has the same
uuids. Then the child is the one whose copied prompts share one promptId (the CLI overwrites theirs
with that of the new prompt), or else the one that started its own turns later.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from prong.agents.claude.facts import ClaudeFacts
from prong.agents.claude.jobs import JobFork


class Parent(NamedTuple):
    id: str
    inherited: int


def parents(
    sessions: Mapping[str, ClaudeFacts], forks: Iterable[JobFork] = ()
) -> dict[str, Parent]:
    """Map each session that is a fork to its parent, by session id."""
    result = {
        id_: Parent(facts.forked_from, facts.forked)
        for id_, facts in sessions.items()
        if facts.forked_from and facts.forked_from != id_
    }
    recorded = {
        fork.child: Parent(fork.parent, sessions[fork.child].turns_until(fork.boundary))
        for fork in forks
        if fork.child in sessions and fork.child != fork.parent
    }
    result |= recorded
    family = _Family({id_: sessions[id_] for id_ in _related(sessions)})
    for id_ in family.members:
        if id_ in recorded:
            continue
        marked = result.pop(id_, None)
        shared = family.parent_of(id_, result)
        # A `--fork-session` copy of a branch keeps the branch's marks, which name the
        # grandparent: it shares fewer turns.
        if marked and (shared is None or shared.inherited <= marked.inherited):
            shared = marked
        if shared:
            result[id_] = shared
    return result


def _related(sessions: Mapping[str, ClaudeFacts]) -> list[str]:
    """Return the few sessions that share a turn with another."""
    first: dict[int, str] = {}
    related: dict[str, None] = {}
    for id_, facts in sessions.items():
        for key in facts.keys:
            other = first.setdefault(key, id_)
            if other != id_:
                related[other] = related[id_] = None
    return [id_ for id_ in sessions if id_ in related]


class _Family:
    """Sessions with common turns."""

    def __init__(self, members: Mapping[str, ClaudeFacts]) -> None:
        self.members = members
        self.places: dict[int, list[tuple[str, int]]] = {}
        for id_, facts in members.items():
            for position, key in enumerate(facts.keys):
                self.places.setdefault(key, []).append((id_, position))

    def parent_of(self, id_: str, found: Mapping[str, Parent]) -> Parent | None:
        """Return the session it shares most turns with, among those it can be a copy of."""
        visited = {id_}
        keys = self.members[id_].keys
        for shared in range(len(keys), 0, -1):
            candidates: list[tuple[bool, int, str]] = []
            for other, position in self.places[keys[shared - 1]]:
                if other in visited:
                    continue
                visited.add(other)
                length = position + 1
                if not _descends(other, id_, found) and self._is_child(id_, shared, other, length):
                    # Of two that share equally many, one that is itself a copy is a sibling.
                    copied = self._is_copy(other, length)
                    candidates.append((copied, self._own_start(other, length), other))
            if candidates:
                return Parent(min(candidates)[2], shared)
        return None

    def _is_child(self, child: str, shared: int, parent: str, parent_shared: int) -> bool:
        copied = self._is_copy(child, shared)
        if copied != self._is_copy(parent, parent_shared):
            return copied
        return self._rank(child, shared) > self._rank(parent, parent_shared)

    def _is_copy(self, id_: str, shared: int) -> bool:
        # The CLI gives the promptId of a copy's first own prompt to all copied prompts.
        return self.members[id_].uniform > shared

    def _rank(self, id_: str, shared: int) -> tuple[int, float, str]:
        updated = self.members[id_].session.updated
        return (self._own_start(id_, shared), updated.timestamp() if updated else 0, id_)

    def _own_start(self, id_: str, shared: int) -> int:
        # 0 without a turn of its own. A copy is written with its first new prompt, so a session
        # without one must be the source.
        return self.members[id_].time_of(shared)


def _descends(id_: str, ancestor: str, found: Mapping[str, Parent]) -> bool:
    seen: set[str] = set()
    while id_ in found and id_ not in seen:
        seen.add(id_)
        id_ = found[id_].id
        if id_ == ancestor:
            return True
    return False
