"""The code of turns: taking what hooks kept into state.db, and keeping it by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prong import spool
from prong.app import turn_code, whereabouts
from prong.errors import Busy, NotFound, ProngError, UsageError
from prong.limits import SNAPSHOT_LIMIT
from prong.log import debug
from prong.model import (
    Conversation,
    DiffStat,
    Fork,
    SessionRef,
    Snapshot,
    Turn,
    TurnKey,
    TurnState,
)
from prong.record import replace
from prong.state import activity
from prong.state.activity import ActivityRecords
from prong.state.snapshots import SnapshotRecords
from prong.vcs import snapshots
from prong.vcs.diffs import diffstats
from prong.vcs.worktree_record import common_of
from prong.vcs.worktree_refs import is_for_a_worktree

_SOON = timedelta(hours=1)
"""So long after a turn its code may still be caught up with."""


class Capture:
    """What is known of the code at turns, and whether their repositories still have it."""

    def __init__(
        self,
        state: Path,
        forks: Callable[[], Iterable[Fork]] = tuple,
        limit: int = SNAPSHOT_LIMIT,
    ) -> None:
        """`forks` tells of those that were recorded: a fork has turns of its source.

        Files above the limit are left out of snapshots.
        """
        self._forks = forks
        self._limit = limit
        self._records = SnapshotRecords(state / "state.db")
        self._activity = ActivityRecords(state / "state.db")
        self._spool = state / "spool"

    def of(self, conversation: Conversation) -> dict[str, Snapshot]:
        """The snapshots of a conversation's turns by turn id, of abandoned ones as well.

        `TurnKey.BASELINE` is the code before the first prompt, `TurnKey.START` that which a fork
        was first asked in.
        """
        self.take_in()
        turns = (*conversation.turns, *conversation.abandoned)
        session = conversation.session
        wanted = [TurnKey.BASELINE, TurnKey.START, *(turn.id for turn in turns)]
        found = self._records.of_turns(session.ref, wanted)
        first = found.get(conversation.turns[0].id) if conversation.turns else None
        if session.inherited and TurnKey.BASELINE in found:
            # The agent's own fork has no file when it is first asked: it looked like a new session.
            found.setdefault(TurnKey.START, found.pop(TurnKey.BASELINE))
        if first is not None and TurnKey.BASELINE not in found:
            # A fork began where the session did that its first turn comes from.
            origin = SessionRef(first.agent, first.session)
            found |= self._records.of_turns(origin, [TurnKey.BASELINE])
        return whereabouts.located(found, lambda: whereabouts.places(session, self._forks()))

    def sessions(self) -> set[SessionRef]:
        """The sessions of which the code of some turn was kept."""
        self.take_in()
        return {SessionRef(*name) for name in self._records.sessions()}

    def turn_ids(self) -> set[str]:
        """The turns whose code was kept, by their ids."""
        self.take_in()
        return self._records.turn_ids()

    def with_code(self, conversation: Conversation) -> Conversation:
        """The conversation, its turns with what is known of their code."""
        found = self._caught_up(conversation)
        if not found:
            return conversation
        changes = _changes(conversation, found)

        def told(turn: Turn) -> Turn:
            snapshot = found.get(turn.id)
            if snapshot is None:
                return turn
            changed = changes.get(turn.id)
            late = turn_code.is_late(snapshot, turn)
            return replace(turn, snapshot=snapshot.commit, changes=changed, late=late)

        return replace(
            conversation,
            turns=tuple(map(told, conversation.turns)),
            abandoned=tuple(map(told, conversation.abandoned)),
        )

    def take_in(self) -> None:
        """Record what hooks have kept since the last time.

        Where that is not possible, the spool keeps it for the next time.
        """
        try:
            with spool.taken(self._spool) as events:
                found, left = _told(events)
                self._records.add(*found)
                self._activity.add(*activity.told(events))
                for event in left:
                    spool.append(event, self._spool)
        except (ProngError, OSError) as error:
            debug(__name__, "what hooks told could not be taken in: %s", error)

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
            return found

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
            raise Busy(f"the agent is at work on turn {last.index} of {session.ref}")
        if last is not None and last.index is not None and last.index <= session.inherited:
            raise UsageError(
                f"{session.ref} has no turn of its own yet", hint=f"prong snapshot {session.parent}"
            )
        folder = Path(session.cwd or "")
        if not session.cwd or not folder.is_dir():
            raise NotFound(f"the folder of {session.ref} is gone", path=session.cwd)
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
        known = {one.ref: one for one in self._records.all()}
        left = whereabouts.located(known)
        lost = [one.key for ref, one in known.items() if ref not in left]
        self._records.forget(lost)
        return len(lost)


def _is_just_over(turn: Turn) -> bool:
    if turn.state is TurnState.RUNNING or turn.ended is None:
        return False
    return datetime.now(UTC) - turn.ended < _SOON


def _is_one_repository(one: Path, other: Path) -> bool:
    """Two worktrees of a repository can be compared, two repositories cannot."""
    return one == other or common_of(one) == common_of(other) is not None


def _changes(conversation: Conversation, found: dict[str, Snapshot]) -> dict[str, DiffStat]:
    """What each active turn changed since the one before it, whatever was committed meanwhile."""
    pairs: dict[Path, dict[str, tuple[str, str]]] = defaultdict(dict)
    for turn in conversation.turns:
        before = found.get(turn_code.id_before(conversation, turn, found))
        after = found.get(turn.id)
        if before and after and _is_one_repository(before.repo, after.repo):
            pairs[after.repo][turn.id] = (before.tree, after.tree)
    changes: dict[str, DiffStat] = {}
    for repository, trees in pairs.items():
        try:
            stats = diffstats(repository, list(trees.values()))
        except ProngError as error:
            debug(__name__, "nothing is known of the changes in %s: %s", repository, error)
        else:
            changes.update(zip(trees, stats, strict=True))
    return changes


def _told(
    events: Iterable[dict[str, object]],
) -> tuple[list[Snapshot], list[dict[str, object]]]:
    """The snapshots that events name, as their repositories have them; and events to ask again."""
    told: dict[tuple[str, TurnKey], dict[str, dict[str, object]]] = defaultdict(dict)
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
    left: list[dict[str, object]] = []
    for (repo, beside), wanted in told.items():
        if not Path(repo).is_dir():
            continue
        try:
            there = snapshots.find(Path(repo), beside)
        except ProngError as error:
            # The others are not to suffer from one repository that git does not open.
            debug(__name__, "what hooks kept in %s cannot be read: %s", repo, error)
            left += wanted.values()
        else:
            found += [one for one in there if one.ref in wanted]
    return found, left
