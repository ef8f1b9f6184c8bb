"""The code of turns as state.db and the spool tell it, for lists of turns of many sessions.

Unlike `Capture`, this reads no session, writes nothing, and runs git once per repository at most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from prong.hook import spool
from prong.model.code import Snapshot, TurnKey
from prong.model.record import replace
from prong.model.sessions import Session, Turn
from prong.storage.snapshots import SnapshotRecords

_BEGINNINGS = (TurnKey.BASELINE, TurnKey.START)
"""Ids that every session has for itself."""


class ListedTurn(NamedTuple):
    """A turn in a list, and what its code is compared to."""

    session: Session
    turn: Turn
    before: str | None
    """The id of the turn before; None for the first one of a session file."""

    @property
    def agent(self) -> str:
        return self.session.agent

    @property
    def ids_before(self) -> tuple[str, ...]:
        """The ids under which the code before it may be recorded, the best first."""
        before = TurnKey.BASELINE if self.turn.index == 1 else self.before
        ids = (f"{TurnKey.NEXT}{before}", before) if before else ()
        if self.session.inherited and self.turn.index == self.session.inherited + 1:
            # A fork may begin with other code. The agent's own fork looks like a new session.
            ids = (*ids[:1], TurnKey.START, TurnKey.BASELINE, *ids[1:])
        return ids


class RecordedCode:
    """The recorded snapshots, and those that hooks captured since."""

    def __init__(self, state: Path) -> None:
        self._records = SnapshotRecords(state / "state.db")
        self._spool = state / "spool"

    @cached_property
    def _waiting(self) -> dict[str, dict[str, str]]:
        """Commits of snapshots that are not recorded yet, by agent and turn id."""
        commits: dict[str, dict[str, str]] = defaultdict(dict)
        for event in spool.waiting(self._spool):
            match event:
                case {"agent": str(agent), "snapshot": {"turn": str(turn), "commit": str(commit)}}:
                    commits[agent][turn] = commit
                case _:
                    pass
        return commits

    def turn_ids(self) -> set[str]:
        """Return the ids of all turns that have a snapshot."""
        waiting = {id_ for ids in self._waiting.values() for id_ in ids}
        return self._records.turn_ids() | {id_ for id_ in waiting if TurnKey("", "", id_).is_turn}

    def among(self, agent: str, turn_ids: Collection[str]) -> set[str]:
        """Filter an agent's turn ids by whether they have snapshots."""
        waiting = self._waiting.get(agent, {}).keys() & set(turn_ids)
        return self._records.among(agent, turn_ids) | waiting

    def add_to(self, listed: Sequence[ListedTurn]) -> list[Turn]:
        """Add to turns their snapshots, and what they changed."""
        captured: dict[str, Snapshot] = {}
        began: dict[str, Snapshot] = {}
        for agent in {item.agent for item in listed}:
            items = [item for item in listed if item.agent == agent]
            ids = {id_ for item in items for id_ in (item.turn.id, *item.ids_before)}
            known = self._records.of_agent(agent, {id_ for id_ in ids if id_ not in _BEGINNINGS})
            captured |= {
                item.turn.id: snapshot
                for item in items
                if (snapshot := _chosen(known, item.turn.id, item.session.id))
            }
            if captured:
                homes = {snapshot.session for snapshot in captured.values()}
                known += self._records.of_sessions(agent, homes, _BEGINNINGS)
                began |= _began(items, captured, known)
        turns = [item.turn for item in listed]
        if captured:
            from prong.code.changes import with_changes

            turns = with_changes(turns, captured, began, lambda snapshot, _: snapshot.late)
        return [self._told(item.agent, turn) for item, turn in zip(listed, turns, strict=True)]

    def _told(self, agent: str, turn: Turn) -> Turn:
        """Add the snapshot of a turn if it is not recorded yet."""
        commit = self._waiting.get(agent, {}).get(turn.id)
        return replace(turn, snapshot=commit) if commit and not turn.snapshot else turn


def _began(
    items: Iterable[ListedTurn], captured: Mapping[str, Snapshot], known: Sequence[Snapshot]
) -> dict[str, Snapshot]:
    """Map turns to the code that they began with."""
    began: dict[str, Snapshot] = {}
    for item in items:
        if after := captured.get(item.turn.id):
            chosen = (_chosen(known, id_, after.session) for id_ in item.ids_before)
            before = (one for one in chosen if one and one.taken <= after.taken)
            if first := next(before, None):
                began[item.turn.id] = first
    return began


def _chosen(known: Iterable[Snapshot], turn_id: str, session: str) -> Snapshot | None:
    """Return the snapshot of a turn: the session's own, or one that a fork inherits."""
    same = [snapshot for snapshot in known if snapshot.turn_id == turn_id]
    own = next((snapshot for snapshot in same if snapshot.session == session), None)
    return own or (same[0] if same and turn_id not in _BEGINNINGS else None)
