"""The code of turns: taking what hooks kept into state.db, and keeping it by hand."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from prong import spool
from prong.errors import Busy, NotFound, ProngError
from prong.model import Conversation, DiffStat, SessionRef, Snapshot, Turn, TurnKey, TurnState
from prong.state.snapshots import SnapshotRecords
from prong.vcs import listing, snapshots
from prong.vcs.diffs import diffstats

_SOON = timedelta(hours=1)
"""So long after a turn its code may still be caught up with."""

_log = logging.getLogger(__name__)


class Capture:
    """What is known of the code at turns. Git is asked only where something is new."""

    def __init__(self, state: Path) -> None:
        self._records = SnapshotRecords(state / "state.db")
        self._spool = state / "spool"

    def of(self, conversation: Conversation) -> dict[str, Snapshot]:
        """The snapshots of a conversation's turns by turn id, of abandoned ones as well.

        `TurnKey.BASELINE` is the code before the first prompt.
        """
        self.take_in()
        turns = (*conversation.turns, *conversation.abandoned)
        wanted = [TurnKey.BASELINE, *(turn.id for turn in turns)]
        found = self._records.of_turns(conversation.session.ref, wanted)
        first = found.get(conversation.turns[0].id) if conversation.turns else None
        if conversation.session.inherited:
            # What lay there when the fork was first asked is not what was before its first turn.
            found.pop(TurnKey.BASELINE, None)
        if first is not None and TurnKey.BASELINE not in found:
            # A fork began where the session did that its first turn comes from.
            origin = SessionRef(first.agent, first.session)
            found |= self._records.of_turns(origin, [TurnKey.BASELINE])
        return _located(found)

    def with_code(self, conversation: Conversation) -> Conversation:
        """The conversation, its turns with what is known of their code."""
        found = self._caught_up(conversation)
        if not found:
            return conversation
        changes = _changes(conversation, found)

        def told(turn: Turn) -> Turn:
            snapshot = found.get(turn.id)
            commit = snapshot.commit if snapshot else None
            return replace(turn, snapshot=commit, changes=changes.get(turn.id))

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
                for event in left:
                    spool.append(event, self._spool)
        except (ProngError, OSError) as error:
            _log.debug("what hooks told could not be taken in: %s", error)

    def _caught_up(self, conversation: Conversation) -> dict[str, Snapshot]:
        """The snapshots, with that of a last turn whose end no hook was told of.

        Agents do not tell of a turn that was interrupted or failed. Only where code is kept anyway,
        and only soon after: later on, the code as it is now says nothing about the turn.
        """
        found = self.of(conversation)
        last = conversation.turns[-1] if conversation.turns else None
        if not found or last is None or last.id in found or not _is_just_over(last):
            return found
        if last.index is not None and last.index <= conversation.session.inherited:
            return found  # it ended in the session that this one was forked from
        try:
            return {**found, last.id: self.keep(conversation)}
        except ProngError as error:
            _log.debug("the code of %s was not kept: %s", conversation.session.ref, error)
            return found

    def keep(self, conversation: Conversation, *, again: bool = False) -> Snapshot:
        """Keep the code as it is now, as that of the last turn. The turn must be over.

        A turn that has a snapshot keeps it, unless it is to be taken `again`.
        """
        session = conversation.session
        last = conversation.turns[-1] if conversation.turns else None
        if last is not None and last.state is TurnState.RUNNING:
            raise Busy(f"the agent is at work on turn {last.index} of {session.ref}")
        folder = Path(session.cwd or "")
        if not session.cwd or not folder.is_dir():
            raise NotFound(f"the folder of {session.ref} is gone", path=session.cwd)
        key = TurnKey(session.agent, session.id, last.id if last else TurnKey.BASELINE)
        number = last.index if last else 0
        taken = snapshots.take(folder, key, number=number, again=again)
        if taken is None:
            raise NotFound(
                f"no code captured: {folder} is not in a git repository", path=str(folder)
            )
        self._records.add(taken)
        # A hook does not always know which number the turn has.
        return taken if taken.number is not None else taken._replace(number=number)

    def rebuild(self, folders: Iterable[Path]) -> int:
        """Record what the repositories at these folders have; the number of snapshots found."""
        found = {
            snapshot.key: snapshot for folder in folders for snapshot in snapshots.find(folder)
        }
        self._records.add(*found.values())
        return len(found)

    def forget_deleted(self) -> int:
        """Drop the records of snapshots that their repositories no longer have; how many."""
        known = {one.ref: one for one in self._records.all()}
        left = _located(known)
        lost = [one.key for ref, one in known.items() if ref not in left]
        self._records.forget(lost)
        return len(lost)


def _located(found: Mapping[str, Snapshot]) -> dict[str, Snapshot]:
    """Each with a folder that has it; without those that somebody deleted from there.

    A worktree that is gone leaves its snapshots to the repository, where the others are.
    """
    homeless = {one.commit for one in found.values() if not one.repo.is_dir()}
    there = {
        folder: _present(folder, homeless | {one.commit for one in found.values()})
        for folder in {one.repo for one in found.values()}
        if folder.is_dir()
    }
    located: dict[str, Snapshot] = {}
    for id_, one in found.items():
        if one.repo in there:
            if one.commit in there[one.repo]:
                located[id_] = one
            continue
        place = next((folder for folder, has in there.items() if one.commit in has), None)
        located[id_] = one if place is None else one._replace(repo=place)
    return located


def _present(folder: Path, commits: set[str]) -> set[str]:
    try:
        return listing.present(folder, commits)
    except ProngError as error:
        _log.debug("nobody knows what %s has: %s", folder, error)
        return commits  # it may be another day that it opens again


def _is_just_over(turn: Turn) -> bool:
    if turn.state is TurnState.RUNNING or turn.ended is None:
        return False
    return datetime.now(UTC) - turn.ended < _SOON


def _changes(conversation: Conversation, found: dict[str, Snapshot]) -> dict[str, DiffStat]:
    """What each active turn changed since the one before it, whatever was committed meanwhile."""
    pairs: dict[tuple[Path, Path], dict[str, tuple[str, str]]] = defaultdict(dict)
    ids = [TurnKey.BASELINE, *(turn.id for turn in conversation.turns)]
    for earlier, later in pairwise(ids):
        before, after = found.get(earlier), found.get(later)
        if before and after:
            # Two worktrees are of one repository, or there is nothing to compare.
            pairs[before.repo, after.repo][later] = (before.tree, after.tree)
    changes: dict[str, DiffStat] = {}
    for (_, repository), trees in pairs.items():
        try:
            stats = diffstats(repository, list(trees.values()))
        except ProngError as error:
            _log.debug("nothing is known of the changes in %s: %s", repository, error)
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
            _log.debug("what hooks kept in %s cannot be read: %s", repo, error)
            left += wanted.values()
        else:
            found += [one for one in there if one.ref in wanted]
    return found, left
