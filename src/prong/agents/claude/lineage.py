"""Which session was forked from which.

`/branch` and SDK forks name their source. `--fork-session` does not: its copy carries the same
uuids, and nothing else tells. Then the child is the one whose copied prompts all carry one
promptId (the CLI overwrites them with that of the new prompt), else the one that started its own
turns later.
"""

from collections.abc import Mapping
from typing import NamedTuple

from prong.agents.claude.facts import Facts


class Parent(NamedTuple):
    id: str
    inherited: int


def parents(sessions: Mapping[str, Facts]) -> dict[str, Parent]:
    """The parent of every session that has one, by session id."""
    places: dict[str, list[tuple[str, int]]] = {}
    for id_, facts in sessions.items():
        for position, opener in enumerate(facts.openers):
            places.setdefault(opener.uuid, []).append((id_, position))
    found = {
        id_: Parent(facts.forked_from, facts.forked)
        for id_, facts in sessions.items()
        if facts.forked_from and facts.forked_from != id_
    }
    family = _Family(sessions, places)
    for id_ in sessions:
        if id_ not in found and (parent := family.parent_of(id_, found)):
            found[id_] = parent
    return found


class _Family:
    def __init__(
        self, sessions: Mapping[str, Facts], places: Mapping[str, list[tuple[str, int]]]
    ) -> None:
        self.sessions = sessions
        self.places = places
        self.uniform = {id_: _uniform(facts) for id_, facts in sessions.items()}

    def parent_of(self, id_: str, found: Mapping[str, Parent]) -> Parent | None:
        """The session it shares most turns with, among those it was copied from."""
        openers = self.sessions[id_].openers
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
        return self.uniform[id_] >= max(shared, 2)

    def _rank(self, id_: str, shared: int) -> tuple[str, str, str]:
        facts = self.sessions[id_]
        return (self._own_start(id_, shared), facts.updated or "", id_)

    def _own_start(self, id_: str, shared: int) -> str:
        # Nothing of its own: a copy is written with its first new prompt, so this was copied from.
        openers = self.sessions[id_].openers
        return (openers[shared].time or "") if shared < len(openers) else ""


def _descends(id_: str, ancestor: str, found: Mapping[str, Parent]) -> bool:
    seen: set[str] = set()
    while id_ in found and id_ not in seen:
        seen.add(id_)
        id_ = found[id_].id
        if id_ == ancestor:
            return True
    return False


def _uniform(facts: Facts) -> int:
    """How many of the first prompts carry the same promptId."""
    first = facts.openers[0].prompt_id if facts.openers else None
    if first is None:
        return 0
    count = 0
    for opener in facts.openers:
        if opener.prompt_id != first:
            break
        count += 1
    return count
