"""Where the code of a turn comes from."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from prong.errors import ProngError
from prong.model import Conversation, Session, Snapshot, Turn, TurnKey
from prong.vcs import snapshots, worktrees
from prong.vcs.repository import Repository

if TYPE_CHECKING:
    from prong.app.application import App

_PUNCTUAL = timedelta(minutes=1)


@dataclass(frozen=True)
class TurnCode:
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


def captured(app: App, conversation: Conversation, turn: Turn | None) -> TurnCode | None:
    """As it was kept when the turn was over."""
    snapshot = app.snapshots(conversation).get(turn.id if turn else TurnKey.BASELINE)
    if snapshot is not None and not snapshot.repo.is_dir():
        snapshot = _elsewhere(app, conversation.session, snapshot)
    if snapshot is None:
        return None
    delay = snapshot.taken - turn.ended if turn and turn.ended else timedelta()
    return TurnCode(snapshot.repo, snapshot, late=delay if delay > _PUNCTUAL else None)


def nearest(_app: App, conversation: Conversation, turn: Turn | None) -> TurnCode | None:
    """The commit that the session's branch was at."""
    session = conversation.session
    repository = repository_of(session)
    when = (turn.ended or turn.started) if turn else session.started
    if repository is None or when is None:
        return None
    commit = worktrees.nearest_commit(repository, session.branch, when)
    return TurnCode(repository, commit=commit) if commit else None


Source = Callable[["App", Conversation, Turn | None], TurnCode | None]

SOURCES: tuple[Source, ...] = (captured, nearest)
"""In the order in which they are believed. Code put together again from what a session tells of its
edits would stand between the two."""


def repository_of(session: Session) -> Path | None:
    """The working tree that a session runs in; None without git, or when it is gone."""
    if not session.cwd or not Path(session.cwd).is_dir():
        return None
    found = Repository.find(Path(session.cwd))
    return found.top if found else None


def _elsewhere(app: App, session: Session, snapshot: Snapshot) -> Snapshot | None:
    """The worktree that it was taken in is gone; the repository has it all the same."""
    for folder in _places(app, session):
        with suppress(ProngError):
            repository = Repository.find(folder)
            there = snapshots.find(folder, snapshot.key) if repository else []
            if repository is not None and any(one.commit == snapshot.commit for one in there):
                return snapshot._replace(repo=repository.top)
    return None


def _places(app: App, session: Session) -> list[Path]:
    """Where the session ran, and where those ran that it was forked from."""
    forks = {fork.child: fork for fork in app.recorded_forks()}
    places = [session.cwd]
    ref = session.ref
    while (fork := forks.pop(ref, None)) is not None:
        places.append(fork.parent_workspace)
        ref = fork.parent.session
    return [Path(place) for place in places if place and Path(place).is_dir()]
