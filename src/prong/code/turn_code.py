"""Where the code of a turn comes from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from prong.code.repository import Repository
from prong.code.worktrees import worktree
from prong.model.code import Snapshot, TurnKey
from prong.model.record import Record
from prong.model.sessions import Conversation, Session, Turn

if TYPE_CHECKING:
    from prong.app import App

_PUNCTUAL = timedelta(minutes=1)


class TurnCode(Record, frozen=True):
    """The code of a turn: a snapshot, or a commit that comes near to it."""

    repo: Path
    snapshot: Snapshot | None = None
    commit: str | None = None
    late: timedelta | None = None
    """How long after the turn it was taken, where that was late."""

    @property
    def is_exact(self) -> bool:
        return self.snapshot is not None


def find(app: App, conversation: Conversation, turn: Turn | None) -> TurnCode | None:
    """The code at the end of a turn, or before the first; None when nothing is known of it."""
    return next((code for source in SOURCES if (code := source(app, conversation, turn))), None)


def id_before(conversation: Conversation, turn: Turn, known: Mapping[str, Snapshot]) -> str:
    """Under which id the code is kept that an active turn began with.

    A fork may have begun with other code than that of the turn it was forked at.
    """
    assert turn.index is not None
    start = known.get(TurnKey.START)
    is_first = turn.index == conversation.session.inherited + 1 > 1
    # Hooks that were installed later have seen another beginning.
    if start and is_first and (turn.ended is None or start.taken <= turn.ended):
        return TurnKey.START
    return conversation.turns[turn.index - 2].id if turn.index > 1 else TurnKey.BASELINE


def starts(known: Mapping[str, Snapshot]) -> dict[str, Snapshot]:
    """The code at the prompt of each turn, where that was kept after all that went before.

    What a person changed between two turns is in it, and is not counted to the turn that follows.
    """
    ordered = sorted(known.values(), key=lambda one: (one.session, one.taken))
    return {
        after.turn_id: before
        for before, after in pairwise(ordered)
        if before.session == after.session
        and before.turn_id.startswith(TurnKey.NEXT)
        and after.key.is_turn
    }


def captured(app: App, conversation: Conversation, turn: Turn | None) -> TurnCode | None:
    """As it was kept when the turn was over."""
    snapshot = app.snapshots(conversation).get(turn.id if turn else TurnKey.BASELINE)
    if snapshot is None or not snapshot.repo.is_dir():
        return None
    late = _delay(snapshot, turn) if turn and is_late(snapshot, turn) else None
    return TurnCode(snapshot.repo, snapshot, late=late)


def is_late(snapshot: Snapshot, turn: Turn) -> bool:
    """Whether the code may have changed between the end of the turn and the snapshot of it."""
    return snapshot.late or _delay(snapshot, turn) > _PUNCTUAL


def _delay(snapshot: Snapshot, turn: Turn) -> timedelta:
    return snapshot.taken - turn.ended if turn.ended else timedelta()


def nearest(app: App, conversation: Conversation, turn: Turn | None) -> TurnCode | None:
    """The commit that the session's branch was at.

    In the repository that the session is in, or that has the code of another turn of it.
    """
    session = conversation.session
    repository = repository_of(session) or _repository_with_code(app, conversation)
    when = (turn.ended or turn.started) if turn else session.started
    if repository is None or when is None:
        return None
    commit = worktree.nearest_commit(repository, session.branch, when)
    return TurnCode(repository, commit=commit) if commit else None


Source = Callable[["App", Conversation, Turn | None], TurnCode | None]

SOURCES: tuple[Source, ...] = (captured, nearest)
"""In the order in which they are believed. Code put together again from what a session tells of its
edits would stand between the two."""


def _repository_with_code(app: App, conversation: Conversation) -> Path | None:
    kept = sorted(app.snapshots(conversation).values(), key=lambda one: one.taken, reverse=True)
    return next((one.repo for one in kept if Repository.find(one.repo)), None)


def repository_of(session: Session) -> Path | None:
    """The working tree that a session runs in; None without git, or when it is gone."""
    if not session.cwd or not Path(session.cwd).is_dir():
        return None
    found = Repository.find(Path(session.cwd))
    return found.top if found else None
