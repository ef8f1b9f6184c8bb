"""Which session was forked from which.

`/branch` and SDK forks name their source. `--fork-session` does not: its copy carries the same
uuids, and nothing else tells. Then the child is the one whose copied prompts all carry one
promptId (the CLI overwrites them with that of the new prompt), else the one that started its own
turns later.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prong.agents.claude.facts import Facts, Opener, keys_in


class Parent(NamedTuple):
    id: str
    inherited: int


def parents(sessions: Mapping[str, Facts]) -> dict[str, Parent]:
    """The parent of every session that has one, by session id."""
    found = {
        id_: Parent(facts.forked_from, facts.forked)
        for id_, facts in sessions.items()
        if facts.forked_from and facts.forked_from != id_
    }
    family = _Family(
        {id_: _Member(sessions[id_].openers(), sessions[id_].updated) for id_ in _related(sessions)}
    )
    for id_ in family.members:
        if id_ not in found and (parent := family.parent_of(id_, found)):
            found[id_] = parent
    return found


def _related(sessions: Mapping[str, Facts]) -> list[str]:
    """The sessions that share a turn with another one. Few do, so the rest stays packed."""
    first: dict[bytes, str] = {}
    related: dict[str, None] = {}
    for id_, facts in sessions.items():
        for key in keys_in(facts.keys):
            other = first.setdefault(key, id_)
            if other != id_:
                related[other] = related[id_] = None
    return [id_ for id_ in sessions if id_ in related]


class _Member:
    def __init__(self, openers: list[Opener], updated: str | None) -> None:
        self.openers = openers
        self.updated = updated or ""
        self.uniform = _uniform(openers)


class _Family:
    """Sessions that have turns in common."""

    def __init__(self, members: Mapping[str, _Member]) -> None:
        self.members = members
        self.places: dict[str, list[tuple[str, int]]] = {}
        for id_, member in members.items():
            for position, opener in enumerate(member.openers):
                self.places.setdefault(opener.uuid, []).append((id_, position))

    def parent_of(self, id_: str, found: Mapping[str, Parent]) -> Parent | None:
        """The session it shares most turns with, among those it was copied from."""
        openers = self.members[id_].openers
        looked_at = {id_}
        for position in range(len(openers) - 1, -1, -1):
            candidates: list[tuple[str, str]] = []
            for other, other_position in self.places[openers[position].uuid]:
                if other in looked_at:
                    continue
                looked_at.add(other)
                if _descends(other, id_, found):
                    continue
                if self._is_child(id_, position + 1, other, other_position + 1):
                    candidates.append((self._own_start(other, other_position + 1), other))
            if candidates:
                return Parent(min(candidates)[1], position + 1)
        return None

    def _is_child(self, child: str, shared: int, parent: str, parent_shared: int) -> bool:
        copied = self._is_copy(child, shared)
        if copied != self._is_copy(parent, parent_shared):
            return copied
        return self._rank(child, shared) > self._rank(parent, parent_shared)

    def _is_copy(self, id_: str, shared: int) -> bool:
        # One shared prompt always has one promptId; then the copy's next prompt has the same.
        return self.members[id_].uniform >= max(shared, 2)

    def _rank(self, id_: str, shared: int) -> tuple[str, str, str]:
        return (self._own_start(id_, shared), self.members[id_].updated, id_)

    def _own_start(self, id_: str, shared: int) -> str:
        # Nothing of its own: a copy is written with its first new prompt, so this was copied from.
        openers = self.members[id_].openers
        return (openers[shared].time or "") if shared < len(openers) else ""


def _descends(id_: str, ancestor: str, found: Mapping[str, Parent]) -> bool:
    seen: set[str] = set()
    while id_ in found and id_ not in seen:
        seen.add(id_)
        id_ = found[id_].id
        if id_ == ancestor:
            return True
    return False


def _uniform(openers: Sequence[Opener]) -> int:
    """How many of the first prompts carry the same promptId."""
    first = openers[0].prompt_id if openers else None
    if first is None:
        return 0
    return next((i for i, one in enumerate(openers) if one.prompt_id != first), len(openers))
