"""Snapshots of turns: import what hooks captured into state.db, and capture by hand."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from prong.code import gaps as code_gaps
from prong.code import locate, turn_code
from prong.code.changes import with_changes
from prong.code.snapshots import snapshot as snapshots
from prong.code.worktrees.refs import is_for_a_worktree
from prong.errors import Busy, External, NotFound, ProngError, UsageError
from prong.files.size_limit import SNAPSHOT_LIMIT
from prong.hook import spool
from prong.log import debug
from prong.model.code import Snapshot, TurnKey
from prong.model.forks import Fork
from prong.model.record import replace
from prong.model.sessions import CodeGap, Conversation, GapKind, SessionRef, Turn, TurnState
from prong.storage import activity
from prong.storage.activity import ActivityRecords
from prong.storage.snapshots import (
    CaptureFailure,
    CaptureFailureRecords,
    SnapshotRecords,
    failures_in,
)

_SOON = timedelta(hours=1)
"""How long after a turn its code may still be captured."""
_SEARCHED_FOR_LFS = 20, 1000
"""How many recent snapshots are checked for LFS files: per working tree, and in total."""


class IncompleteSnapshot(NamedTuple):
    snapshot: Snapshot
    gaps: tuple[CodeGap, ...]


class Capture:
    """The captured code of turns, checked against what the repositories still have."""

    def __init__(
        self,
        state: Path,
        forks: Callable[[], Iterable[Fork]] = tuple,
        limit: int = SNAPSHOT_LIMIT,
        folders: Callable[[], Iterable[Path]] = tuple,
        agent_folders: Callable[[], Iterable[Path]] = tuple,
    ) -> None:
        """Open the records below `state`. `forks` returns the recorded forks.

        Files above the `limit` are left out of snapshots. `folders`: where sessions ran, searched
        for lost repositories. `agent_folders`: files that agents write below these are not code.
        """
        self._forks = forks
        self._limit = limit
        self._folders = folders
        self._agent_folders = agent_folders
        self._records = SnapshotRecords(state / "state.db")
        self._failures = CaptureFailureRecords(state / "state.db")
        self._activity = ActivityRecords(state / "state.db")
        self._spool = state / "spool"

    def of(self, conversation: Conversation) -> dict[str, Snapshot]:
        """Return the snapshots by turn id, also of abandoned turns; see `TurnKey` for other ids."""
        self.take_in()
        recorded = self._recorded(conversation)
        existing, unknown = locate.present(recorded.values())
        by_turn = {id_: one for id_, one in recorded.items() if one.commit in existing}
        if all(turn.id in by_turn for turn in _all_turns(conversation)):
            return by_turn
        # Deleted where it was taken, or never recorded: look for its ref in the repository.
        found = self._search(conversation).found
        homes = {snapshot.commit: snapshot.repo for snapshot in found}
        known = existing | unknown | homes.keys()
        deleted = {one.key for one in recorded.values() if one.commit not in known}
        try:
            there = self._records.times(one.key for one in found)
            new = [one for one in found if one.key in deleted or one.key not in there]
            self._records.add(*new)
        except ProngError as error:
            debug(__name__, "snapshots that were found are not recorded: %s", error)
        for id_, snapshot in self._recorded(conversation, found).items():
            if snapshot.commit in homes and snapshot.commit not in existing:
                by_turn[id_] = snapshot._replace(repo=homes[snapshot.commit])
            elif snapshot.commit in existing or snapshot.commit in unknown:
                by_turn[id_] = snapshot  # its disk may be mounted again
        return by_turn

    def _recorded(
        self, conversation: Conversation, more: Iterable[Snapshot] = ()
    ) -> dict[str, Snapshot]:
        """Return the recorded snapshots, plus those of `more` that could not be recorded."""
        session = conversation.session
        ids = [TurnKey.BASELINE, *(turn.id for turn in _all_turns(conversation))]
        keys = [TurnKey.START, *ids, *(f"{TurnKey.NEXT}{id_}" for id_ in ids)]
        recorded = self._records.of_turns(session.ref, keys, more)
        first = recorded.get(conversation.turns[0].id) if conversation.turns else None
        if session.inherited and TurnKey.BASELINE in recorded:
            # The agent's own fork has no file at its first prompt: it looked like a new session.
            recorded.setdefault(TurnKey.START, recorded.pop(TurnKey.BASELINE))
        if first is not None and TurnKey.BASELINE not in recorded:
            # A fork has the baseline of the session that its first turn comes from.
            origin = SessionRef(first.agent, first.session)
            recorded |= self._records.of_turns(origin, [TurnKey.BASELINE], more)
        return recorded

    def _search(self, conversation: Conversation) -> locate.SnapshotSearch:
        """Search the refs of a session near where it ran; further away if a repository is lost."""
        forks = {fork.child: fork for fork in self._forks()}
        search = locate.SnapshotSearch(locate.lineage(conversation, forks))
        near = locate.near(conversation, forks)
        for folder in near:
            search.visit(folder)
        if any(map(locate.is_lost, near)):
            search.visit_until_found(self._further_places(near))
        return search

    def _further_places(self, lost: Iterable[Path]) -> Iterator[Path]:
        yield from locate.around(lost)
        yield from self._records.repositories()
        yield from self._folders()

    def searched(self, conversation: Conversation) -> list[Path]:
        return self._search(conversation).looked

    def tops(self, conversation: Conversation) -> list[Path]:
        """List the working trees in which snapshots were taken. They may be gone."""
        return list(dict.fromkeys(item.repo for item in self._recorded(conversation).values()))

    def sessions(self) -> set[SessionRef]:
        self.take_in()
        return {SessionRef(*name) for name in self._records.sessions()}

    def with_code(self, conversation: Conversation, *, lfs: bool = True) -> Conversation:
        """Add snapshots, changes and gaps to turns; for those of LFS files, git lists a tree."""
        captured = self._caught_up(conversation)
        turns = {turn.id: turn for turn in _all_turns(conversation)}
        gaps = self._gaps(conversation, turns, captured)
        if lfs:
            of_turns = {id_: captured[id_] for id_ in turns if id_ in captured}
            missing = code_gaps.of_lfs(of_turns.values())
            for id_, snapshot in of_turns.items():
                if snapshot.commit in missing:
                    gaps[id_] = (*gaps.get(id_, ()), *missing[snapshot.commit])
        if not captured and not gaps:
            return conversation
        code = turn_code.CapturedCode(conversation, captured)
        starts = {turn.id: code.before(turn) for turn in conversation.turns}
        began = {id_: snapshot for id_, snapshot in starts.items() if snapshot is not None}
        described = with_changes(_all_turns(conversation), captured, began, turn_code.is_late)
        complete = tuple(replace(turn, gaps=gaps.get(turn.id, ())) for turn in described)
        count = len(conversation.turns)
        return replace(conversation, turns=complete[:count], abandoned=complete[count:])

    def failures(self) -> list[CaptureFailure]:
        """List failed captures that no later snapshot made up for, newest first."""
        failures = self._failures.all()
        taken = self._records.times({failure.key for failure in failures})
        return [
            entry for entry in failures if entry.key not in taken or taken[entry.key] < entry.time
        ]

    def incomplete(self) -> list[IncompleteSnapshot]:
        """List recorded snapshots that left files out, newest first."""
        records = self._records.incomplete()
        return [IncompleteSnapshot(entry, tuple(code_gaps.of_snapshot(entry))) for entry in records]

    def without_lfs(self) -> list[IncompleteSnapshot]:
        """List recent snapshots with LFS files that were not downloaded, newest first."""
        recent = self._records.newest(*_SEARCHED_FOR_LFS)
        gaps = code_gaps.of_lfs(recent)
        return [IncompleteSnapshot(one, gaps[one.commit]) for one in recent if one.commit in gaps]

    def with_files_outside(self, conversation: Conversation) -> list[IncompleteSnapshot]:
        """List snapshots of turns that changed files outside the repository, newest first."""
        recorded = self._recorded(conversation)
        turns = {turn.id: turn for turn in conversation.turns}
        gaps = self._gaps(conversation, turns, recorded)
        outside = {
            id_: tuple(gap for gap in gaps.get(id_, ()) if gap.kind is GapKind.OUTSIDE)
            for id_ in reversed(turns)
        }
        return [IncompleteSnapshot(recorded[id_], found) for id_, found in outside.items() if found]

    def gaps(self, conversation: Conversation, turn: Turn | None) -> tuple[CodeGap, ...]:
        """Return what the captured code of a turn lacks; for None, of the start of the session."""
        id_ = turn.id if turn else TurnKey.BASELINE
        return self._gaps(conversation, {id_: turn}, self.of(conversation)).get(id_, ())

    def _gaps(
        self,
        conversation: Conversation,
        by_id: Mapping[str, Turn | None],
        found: Mapping[str, Snapshot],
    ) -> dict[str, tuple[CodeGap, ...]]:
        """Collect the gaps by turn id, for turns that have any."""
        session = conversation.session
        failures = self._failures.of_turns(session.ref, by_id)
        # A session still has the old paths of a repository that was moved.
        tops = [*self.tops(conversation), *(item.repo for item in found.values())] if found else []
        inside = {*tops, *self._agent_folders()}
        gaps: dict[str, tuple[CodeGap, ...]] = {}
        for id_, turn in by_id.items():
            snapshot = found.get(id_)
            outside = code_gaps.outside(turn, session.cwd, inside) if snapshot and turn else []
            gaps[id_] = code_gaps.of_turn(snapshot, failures.get(id_), outside)
        return {id_: of_turn for id_, of_turn in gaps.items() if of_turn}

    def take_in(self) -> None:
        """Record what hooks captured since the last call; if that fails, the spool keeps it."""
        try:
            with spool.taken(self._spool) as events:
                captured, retried = self._snapshots_in(events)
                self._records.add(*captured)
                self._activity.add(*activity.from_events(events))
                self._failures.add(*failures_in(events))
                for event in retried:
                    spool.append(event, self._spool)
        except (ProngError, OSError) as error:
            debug(__name__, "what hooks told could not be taken in: %s", error)

    def _snapshots_in(
        self, events: Iterable[Mapping[str, object]]
    ) -> tuple[list[Snapshot], list[Mapping[str, object]]]:
        """Look up the snapshots that events name. Returns them, and the events to retry later."""
        by_session: dict[tuple[str, TurnKey], dict[str, Mapping[str, object]]] = defaultdict(dict)
        for event in events:
            match event:
                case {
                    "agent": str(agent),
                    "session": str(session),
                    "snapshot": {"repo": str(repo), "ref": str(ref)},
                }:
                    by_session[repo, TurnKey(agent, session, TurnKey.BASELINE)][ref] = event
                case _:
                    pass
        captured: list[Snapshot] = []
        retried: list[Mapping[str, object]] = []
        for (repo, beside), by_ref in by_session.items():
            try:
                captured += [one for one in self._there(Path(repo), beside) if one.ref in by_ref]
            except ProngError as error:
                # One repository that git cannot open must not hold up the others.
                debug(__name__, "what hooks kept in %s cannot be read: %s", repo, error)
                retried += by_ref.values()
        return captured, retried

    def _there(self, repo: Path, beside: TurnKey) -> list[Snapshot]:
        """Find snapshots of a session that were taken in a working tree, even if that is gone."""
        if not locate.is_lost(repo):
            return snapshots.find(repo, beside)
        search = locate.SnapshotSearch([SessionRef(beside.agent, beside.session)])
        # A parent folder may belong to the repository.
        search.visit_until_found(chain([repo], self._further_places([repo])))
        return [snapshot._replace(repo=repo) for snapshot in search.found]

    def _caught_up(self, conversation: Conversation) -> dict[str, Snapshot]:
        """Return the snapshots; capture the last turn now if no hook reported its end.

        Agents run no hook for an interrupted or failed turn. Only in sessions with other snapshots,
        and only soon after the turn: later, the current code says nothing about it.
        """
        captured = self.of(conversation)
        last = conversation.turns[-1] if conversation.turns else None
        if not captured or last is None or last.id in captured or not _is_just_over(last):
            return captured
        try:
            return {**captured, last.id: self.keep(conversation, late=True)}
        except ProngError as error:
            debug(__name__, "the code of %s was not kept: %s", conversation.session.ref, error)
            if isinstance(error, External):
                session = conversation.session
                key = TurnKey(session.agent, session.id, last.id)
                folder = Path(session.cwd) if session.cwd else None
                with suppress(ProngError):
                    now = datetime.now(UTC)
                    self._failures.add(CaptureFailure(key, now, error.message, folder))
            return captured

    def keep(
        self, conversation: Conversation, *, again: bool = False, late: bool = False
    ) -> Snapshot:
        """Capture the current code as that of the last turn, which must be over.

        An existing snapshot is kept unless `again` is set. `late`: the end of the turn was not
        observed, so the code may have changed since.
        """
        session = conversation.session
        last = conversation.turns[-1] if conversation.turns else None
        if last is not None and last.state is TurnState.RUNNING:
            raise Busy(f"the agent is still working on turn {last.index} of {session.ref}")
        if last is not None and last.index is not None and last.index <= session.inherited:
            raise UsageError(
                f"{session.ref} has no turn of its own yet", hint=f"prong snapshot {session.parent}"
            )
        folder = Path(session.cwd or "")
        if not session.cwd or not os.path.isdir(folder):
            raise NotFound(f"the folder of {session.ref} no longer exists", path=session.cwd)
        key = TurnKey(session.agent, session.id, last.id if last else TurnKey.BASELINE)
        number = last.index if last else 0
        taken = snapshots.take(
            folder, key, number=number, again=again, late=late, limit=self._limit
        )
        if taken is None:
            raise NotFound(
                f"no code captured: {folder} is not in a git repository", path=str(folder)
            )
        self._records.add(taken)
        # A hook does not always know the number of the turn.
        return taken if taken.number is not None else taken._replace(number=number)

    def rebuild(self, folder: Path) -> int:
        """Record the snapshots in the repository of a folder. Returns their number."""
        recorded = {entry.key: entry for entry in self._records.all() if entry.repo.is_dir()}
        current = {
            snapshot.key: snapshot
            for snapshot in snapshots.find(folder)
            if not is_for_a_worktree(snapshot.ref)
        }
        for key, entry in current.items():
            # A repository does not say which working tree a snapshot was taken in.
            if key in recorded and recorded[key].commit == entry.commit:
                current[key] = recorded[key]
        self._records.add(*current.values())
        return len(current)

    def forget_deleted(self) -> int:
        """Delete the records of snapshots that no longer exist. Returns their number."""
        recorded = self._records.all()
        existing, unknown = locate.present(recorded)
        lost = [snapshot.key for snapshot in recorded if snapshot.commit not in existing | unknown]
        self._records.forget(lost)
        return len(lost)


def _all_turns(conversation: Conversation) -> tuple[Turn, ...]:
    return (*conversation.turns, *conversation.abandoned)


def _is_just_over(turn: Turn) -> bool:
    if turn.state is TurnState.RUNNING or turn.ended is None:
        return False
    return datetime.now(UTC) - turn.ended < _SOON
