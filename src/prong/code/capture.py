"""The code of turns: taking what hooks kept into state.db, and keeping it by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from prong.code import gaps as code_gaps
from prong.code import locate, turn_code
from prong.code.snapshots import snapshot as snapshots
from prong.code.stats import diffstats
from prong.code.worktrees.record import common_of
from prong.code.worktrees.refs import is_for_a_worktree
from prong.errors import Busy, External, NotFound, ProngError, UsageError
from prong.files.size_limit import SNAPSHOT_LIMIT
from prong.hook import spool
from prong.log import debug
from prong.model.code import DiffStat, Snapshot, TurnKey
from prong.model.forks import Fork
from prong.model.record import replace
from prong.model.sessions import CodeGap, Conversation, GapKind, SessionRef, Turn, TurnState
from prong.storage import activity, capture_failures
from prong.storage.activity import ActivityRecords
from prong.storage.capture_failures import CaptureFailure, CaptureFailureRecords
from prong.storage.snapshots import SnapshotRecords

_SOON = timedelta(hours=1)
"""So long after a turn its code may still be caught up with."""
_SEARCHED_FOR_LFS = 20, 1000
"""Of how many snapshots the LFS files are looked for: in a working tree, and in all."""


class IncompleteSnapshot(NamedTuple):
    """A snapshot, and what it lacks."""

    snapshot: Snapshot
    gaps: tuple[CodeGap, ...]


class Capture:
    """What is known of the code at turns, and whether their repositories still have it."""

    def __init__(
        self,
        state: Path,
        forks: Callable[[], Iterable[Fork]] = tuple,
        limit: int = SNAPSHOT_LIMIT,
        folders: Callable[[], Iterable[Path]] = tuple,
        agent_folders: Callable[[], Iterable[Path]] = tuple,
    ) -> None:
        """`forks` tells of those that were recorded: a fork has turns of its source.

        Files above the limit are left out of snapshots. `folders` tells where sessions ran: a
        repository that is lost is looked for there, too. What agents write below `agent_folders`
        is no code.
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
        """The snapshots of a conversation's turns by turn id, of abandoned ones as well.

        `TurnKey.BASELINE` is the code before the first prompt, `TurnKey.START` that which a fork
        was first asked in, and `TurnKey.NEXT` with a turn that of the prompt after it.
        """
        self.take_in()
        found = self._recorded(conversation, ())
        there, unknown = locate.present(found.values())
        kept = {id_: one for id_, one in found.items() if one.commit in there}
        turns = (*conversation.turns, *conversation.abandoned)
        if all(turn.id in kept for turn in turns):
            return kept
        # Where it was taken it is no more, or nobody told us of it: its repository knows.
        search = self._search(conversation)
        homes = {one.commit: one for one in search.found}
        gone = {one.key for one in found.values()} - {
            one.key for one in found.values() if one.commit in there | unknown | homes.keys()
        }
        new = [one for one in search.found if one.key in gone or not self._records.has(one.key)]
        try:
            self._records.add(*new)
        except ProngError as error:
            debug(__name__, "snapshots that were found are not recorded: %s", error)
        for id_, one in self._recorded(conversation, search.found).items():
            if one.commit in homes and one.commit not in there:
                kept[id_] = one._replace(repo=homes[one.commit].repo)
            elif one.commit in there or one.commit in unknown:
                kept[id_] = one  # its disk may come back
        return kept

    def _recorded(
        self, conversation: Conversation, more: Iterable[Snapshot]
    ) -> dict[str, Snapshot]:
        """What is recorded, and `more` of which that is not possible, wherever it is by now."""
        turns = (*conversation.turns, *conversation.abandoned)
        session = conversation.session
        ids = [TurnKey.BASELINE, *(turn.id for turn in turns)]
        wanted = [TurnKey.START, *ids, *(f"{TurnKey.NEXT}{id_}" for id_ in ids)]
        found = self._records.of_turns(session.ref, wanted, more)
        first = found.get(conversation.turns[0].id) if conversation.turns else None
        if session.inherited and TurnKey.BASELINE in found:
            # The agent's own fork has no file when it is first asked: it looked like a new session.
            found.setdefault(TurnKey.START, found.pop(TurnKey.BASELINE))
        if first is not None and TurnKey.BASELINE not in found:
            # A fork began where the session did that its first turn comes from.
            origin = SessionRef(first.agent, first.session)
            found |= self._records.of_turns(origin, [TurnKey.BASELINE], more)
        return found

    def _search(self, conversation: Conversation) -> locate.SnapshotSearch:
        """Look for the refs of a session near where it ran; further away if that is lost."""
        forks = {fork.child: fork for fork in self._forks()}
        search = locate.SnapshotSearch(locate.lineage(conversation, forks))
        near = locate.near(conversation, forks)
        search.everywhere(near)
        if any(map(locate.is_lost, near)):
            self._search_further(search, near)
        return search

    def _search_further(self, search: locate.SnapshotSearch, lost: Iterable[Path]) -> None:
        search.somewhere(locate.around(lost))
        search.somewhere(self._records.repositories())
        search.somewhere(self._folders())

    def searched(self, conversation: Conversation) -> list[Path]:
        """The repositories in which the snapshots of a session are looked for."""
        return self._search(conversation).looked

    def tops(self, conversation: Conversation) -> list[Path]:
        """The working trees in which the code was kept. They may be gone."""
        return list(dict.fromkeys(one.repo for one in self._recorded(conversation, ()).values()))

    def sessions(self) -> set[SessionRef]:
        """The sessions of which the code of some turn was kept."""
        self.take_in()
        return {SessionRef(*name) for name in self._records.sessions()}

    def turn_ids(self) -> set[str]:
        """The turns whose code was kept, by their ids."""
        self.take_in()
        return self._records.turn_ids()

    def among(self, agent: str, turn_ids: Collection[str]) -> set[str]:
        """Those of an agent's turns whose code was kept."""
        return self._records.among(agent, turn_ids)

    def with_code(self, conversation: Conversation, *, lfs: bool = True) -> Conversation:
        """The conversation, its turns with what is known of their code.

        `lfs`: also which LFS files were not downloaded. Git lists a whole tree for that.
        """
        found = self._caught_up(conversation)
        turns = (*conversation.turns, *conversation.abandoned)
        gaps = self._gaps(conversation, turns, found)
        if lfs:
            _add_lfs(gaps, {turn.id: found[turn.id] for turn in turns if turn.id in found})
        if not found and not gaps:
            return conversation
        began = _beginnings(conversation, found)
        changes = _changes(began, found)

        def told(turn: Turn) -> Turn:
            snapshot = found.get(turn.id)
            if snapshot is None:
                return replace(turn, gaps=gaps[turn.id]) if turn.id in gaps else turn
            changed = changes.get(turn.id)
            late = turn_code.is_late(snapshot, turn)
            return replace(
                turn,
                snapshot=snapshot.commit,
                changes=changed,
                since_prompt=not began[turn.id].key.is_turn if changed else None,
                late=late,
                gaps=gaps.get(turn.id, ()),
            )

        return replace(
            conversation,
            turns=tuple(map(told, conversation.turns)),
            abandoned=tuple(map(told, conversation.abandoned)),
        )

    def failures(self) -> list[CaptureFailure]:
        """The failed captures that no later snapshot made up for, the newest first."""
        failures = self._failures.all()
        taken = self._records.times({failure.key for failure in failures})
        return [one for one in failures if one.key not in taken or taken[one.key] < one.time]

    def incomplete(self) -> list[IncompleteSnapshot]:
        """Recorded snapshots of which files were left out, the newest first."""
        found = self._records.incomplete()
        return [IncompleteSnapshot(one, tuple(code_gaps.of_snapshot(one))) for one in found]

    def without_lfs(self) -> list[IncompleteSnapshot]:
        """Recent snapshots with LFS files that were not downloaded, the newest first."""
        recent = self._records.newest(*_SEARCHED_FOR_LFS)
        gaps = code_gaps.of_lfs(recent)
        return [IncompleteSnapshot(one, gaps[one.commit]) for one in recent if one.commit in gaps]

    def with_files_outside(self, conversation: Conversation) -> list[IncompleteSnapshot]:
        """The snapshots of turns that changed files outside the repository, the newest first."""
        found = self._recorded(conversation, ())
        gaps = self._gaps(conversation, conversation.turns, found)
        outside = {
            id_: tuple(gap for gap in some if gap.kind is GapKind.OUTSIDE)
            for id_, some in gaps.items()
        }
        return [
            IncompleteSnapshot(found[turn.id], outside[turn.id])
            for turn in reversed(conversation.turns)
            if outside.get(turn.id)
        ]

    def gaps(self, conversation: Conversation, turn: Turn | None) -> tuple[CodeGap, ...]:
        """What the captured code of a turn lacks, or of the start of the session."""
        found = self.of(conversation)
        if turn is not None:
            return self._gaps(conversation, [turn], found).get(turn.id, ())
        start = TurnKey.BASELINE
        failures = self._failures.of_turns(conversation.session.ref, [start])
        return code_gaps.of_turn(found.get(start), failures.get(start))

    def _gaps(
        self, conversation: Conversation, turns: Iterable[Turn], found: Mapping[str, Snapshot]
    ) -> dict[str, tuple[CodeGap, ...]]:
        """The gaps of the turns that have some, by the id of the turn."""
        session = conversation.session
        by_id = {turn.id: turn for turn in turns}
        failures = self._failures.of_turns(session.ref, by_id)
        # A repository that was moved still has the paths of its old place in the session.
        tops = [*self.tops(conversation), *(one.repo for one in found.values())] if found else []
        inside = {*tops, *self._agent_folders()}
        gaps: dict[str, tuple[CodeGap, ...]] = {}
        for id_, turn in by_id.items():
            snapshot = found.get(id_)
            outside = code_gaps.outside(turn, session.cwd, inside) if snapshot else []
            gaps[id_] = code_gaps.of_turn(snapshot, failures.get(id_), outside)
        return {id_: some for id_, some in gaps.items() if some}

    def take_in(self) -> None:
        """Record what hooks have kept since the last time.

        Where that is not possible, the spool keeps it for the next time.
        """
        try:
            with spool.taken(self._spool) as events:
                found, left = self._told(events)
                self._records.add(*found)
                self._activity.add(*activity.told(events))
                self._failures.add(*capture_failures.from_events(events))
                for event in left:
                    spool.append(event, self._spool)
        except (ProngError, OSError) as error:
            debug(__name__, "what hooks told could not be taken in: %s", error)

    def _told(
        self, events: Iterable[Mapping[str, object]]
    ) -> tuple[list[Snapshot], list[Mapping[str, object]]]:
        """The snapshots that events name, as repositories have them; and events to ask again."""
        told: dict[tuple[str, TurnKey], dict[str, Mapping[str, object]]] = defaultdict(dict)
        for event in events:
            match event:
                case {
                    "agent": str(agent),
                    "session": str(session),
                    "snapshot": {"repo": str(repo), "ref": str(ref)},
                }:
                    told[repo, TurnKey(agent, session, TurnKey.BASELINE)][ref] = event
                case _:
                    pass
        found: list[Snapshot] = []
        left: list[Mapping[str, object]] = []
        for (repo, beside), wanted in told.items():
            try:
                there = self._there(Path(repo), beside)
            except ProngError as error:
                # The others are not to suffer from one repository that git does not open.
                debug(__name__, "what hooks kept in %s cannot be read: %s", repo, error)
                left += wanted.values()
            else:
                found += [one for one in there if one.ref in wanted]
        return found, left

    def _there(self, repo: Path, beside: TurnKey) -> list[Snapshot]:
        """The snapshots in the session of a turn that were taken in a working tree, gone or not."""
        if not locate.is_lost(repo):
            return snapshots.find(repo, beside)
        search = locate.SnapshotSearch([SessionRef(beside.agent, beside.session)])
        search.somewhere([repo])  # a folder above it may be one of the repository
        self._search_further(search, [repo])
        return [one._replace(repo=repo) for one in search.found]

    def _caught_up(self, conversation: Conversation) -> dict[str, Snapshot]:
        """The snapshots, with that of a last turn whose end no hook was told of.

        Agents do not tell of a turn that was interrupted or failed. Only where code is kept anyway,
        and only soon after: later on, the code as it is now says nothing about the turn.
        """
        found = self.of(conversation)
        last = conversation.turns[-1] if conversation.turns else None
        if not found or last is None or last.id in found or not _is_just_over(last):
            return found
        try:
            return {**found, last.id: self.keep(conversation, late=True)}
        except ProngError as error:
            debug(__name__, "the code of %s was not kept: %s", conversation.session.ref, error)
            if isinstance(error, External):
                self._note_failure(conversation, last, error)
            return found

    def _note_failure(self, conversation: Conversation, turn: Turn, error: ProngError) -> None:
        session = conversation.session
        key = TurnKey(session.agent, session.id, turn.id)
        folder = Path(session.cwd) if session.cwd else None
        with suppress(ProngError):
            failure = CaptureFailure(key, datetime.now(UTC), error.message, folder)
            self._failures.add(failure)

    def keep(
        self, conversation: Conversation, *, again: bool = False, late: bool = False
    ) -> Snapshot:
        """Keep the code as it is now, as that of the last turn. The turn must be over.

        A turn that has a snapshot keeps it, unless it is to be taken `again`. `late`: nobody saw
        the end of the turn, and the code may have changed since.
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
        if not session.cwd or not folder.is_dir():
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
        # A hook does not always know which number the turn has.
        return taken if taken.number is not None else taken._replace(number=number)

    def rebuild(self, folders: Iterable[Path]) -> int:
        """Record what the repositories at these folders have; the number of snapshots found."""
        known = {one.key: one for one in self._records.all() if one.repo.is_dir()}
        found = {
            snapshot.key: snapshot
            for folder in folders
            for snapshot in snapshots.find(folder)
            if not is_for_a_worktree(snapshot.ref)
        }
        for key, one in found.items():
            # A repository does not say in which of its working trees one was taken.
            if key in known and known[key].commit == one.commit:
                found[key] = known[key]
        self._records.add(*found.values())
        return len(found)

    def forget_deleted(self) -> int:
        """Drop the records of snapshots that their repositories no longer have; how many."""
        known = self._records.all()
        there, unknown = locate.present(known)
        lost = [one.key for one in known if one.commit not in there | unknown]
        self._records.forget(lost)
        return len(lost)


def _add_lfs(gaps: dict[str, tuple[CodeGap, ...]], found: Mapping[str, Snapshot]) -> None:
    missing = code_gaps.of_lfs(found.values())
    for id_, snapshot in found.items():
        if snapshot.commit in missing:
            gaps[id_] = (*gaps.get(id_, ()), *missing[snapshot.commit])


def _is_just_over(turn: Turn) -> bool:
    if turn.state is TurnState.RUNNING or turn.ended is None:
        return False
    return datetime.now(UTC) - turn.ended < _SOON


def _is_one_repository(one: Path, other: Path) -> bool:
    """Two worktrees of a repository can be compared, two repositories cannot."""
    return one == other or common_of(one) == common_of(other) is not None


def _beginnings(conversation: Conversation, found: dict[str, Snapshot]) -> dict[str, Snapshot]:
    """What each active turn began with: the code at its prompt, else that of the turn before."""
    starts = turn_code.starts(found)
    began = {
        turn.id: starts.get(turn.id) or found.get(turn_code.id_before(conversation, turn, found))
        for turn in conversation.turns
    }
    return {id_: snapshot for id_, snapshot in began.items() if snapshot is not None}


def _changes(began: dict[str, Snapshot], found: dict[str, Snapshot]) -> dict[str, DiffStat]:
    """What each turn changed since its beginning, whatever was committed meanwhile."""
    pairs: dict[Path, dict[str, tuple[str, str]]] = defaultdict(dict)
    for turn_id, before in began.items():
        after = found.get(turn_id)
        if after and _is_one_repository(before.repo, after.repo):
            pairs[after.repo][turn_id] = (before.tree, after.tree)
    changes: dict[str, DiffStat] = {}
    for repository, trees in pairs.items():
        try:
            stats = diffstats(repository, list(trees.values()))
        except ProngError as error:
            debug(__name__, "nothing is known of the changes in %s: %s", repository, error)
        else:
            changes.update(zip(trees, stats, strict=True))
    return changes
