"""The code of a turn: its snapshot, or the nearest commit; and what has changed since."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from prong.code.changed_files import changed_files
from prong.code.git import Git
from prong.code.repository import Repository
from prong.model.code import Snapshot, TurnKey
from prong.model.forks import CodeSince
from prong.model.record import Record
from prong.model.sessions import Conversation, Session, Turn

_CHANGED = ("diff-tree", "-r", "-z", "--name-only", "--no-renames")
_PUNCTUAL = timedelta(minutes=1)


class TurnCode(Record, frozen=True):
    """The code of a turn: a snapshot, or a commit close to it."""

    repo: Path
    snapshot: Snapshot | None = None
    commit: str | None = None
    late: timedelta | None = None
    """How long after the turn the snapshot was taken, if that was late."""

    @property
    def is_exact(self) -> bool:
        return self.snapshot is not None


class CapturedCode(Record, frozen=True, dict=True):
    """A conversation with its snapshots by turn id."""

    conversation: Conversation
    snapshots: Mapping[str, Snapshot]

    def at(self, turn: Turn | None) -> Snapshot | None:
        """Return the code at the end of a turn, or before the first."""
        return self.snapshots.get(turn.id if turn else TurnKey.BASELINE)

    def turn_before(self, turn: Turn) -> Turn | None:
        assert turn.index is not None
        return self.conversation.turns[turn.index - 2] if turn.index > 1 else None

    def at_prompt(self, turn: Turn) -> Snapshot | None:
        """Return the code at the prompt of an active turn, if it was captured then.

        It contains what a person changed between two turns, so that does not count as work of the
        turn. A fork may have begun with other code than that of the turn it was forked at.
        """
        start = self.snapshots.get(TurnKey.START)
        is_first = turn.index == self.conversation.session.inherited + 1 > 1
        # Hooks installed later saw a later start.
        is_start = start and is_first and (turn.ended is None or start.taken <= turn.ended)
        return self._at_prompts.get(turn.id) or (start if is_start else None)

    def before(self, turn: Turn) -> Snapshot | None:
        """Return the code that an active turn began with."""
        return self.at_prompt(turn) or self.at(self.turn_before(turn))

    @cached_property
    def _at_prompts(self) -> dict[str, Snapshot]:
        """Map turns to the snapshots at their prompts, if none was taken in between."""
        ordered = sorted(self.snapshots.values(), key=lambda one: (one.session, one.taken))
        return {
            after.turn_id: before
            for before, after in pairwise(ordered)
            if before.session == after.session
            and before.turn_id.startswith(TurnKey.NEXT)
            and after.key.is_turn
        }

    def find(self, turn: Turn | None) -> TurnCode | None:
        """Find the code at the end of a turn, or before the first; None if unknown.

        Without a snapshot, it is the commit that the session's branch was at, in the repository of
        the session, or one with the code of another turn of it.
        """
        snapshot = self.at(turn)
        if snapshot is not None and snapshot.repo.is_dir():
            late = _delay(snapshot, turn) if turn and is_late(snapshot, turn) else None
            return TurnCode(snapshot.repo, snapshot, late=late)
        session = self.conversation.session
        latest = sorted(self.snapshots.values(), key=lambda one: one.taken, reverse=True)
        with_code = (one.repo for one in latest if Repository.find(one.repo))
        repository = repository_of(session) or next(with_code, None)
        when = (turn.ended or turn.started) if turn else session.started
        if repository is None or when is None:
            return None
        commit = nearest_commit(repository, session.branch, when)
        return TurnCode(repository, commit=commit) if commit else None


def is_late(snapshot: Snapshot, turn: Turn) -> bool:
    """Tell whether the code may have changed between the end of the turn and its snapshot."""
    return snapshot.late or _delay(snapshot, turn) > _PUNCTUAL


def _delay(snapshot: Snapshot, turn: Turn) -> timedelta:
    return snapshot.taken - turn.ended if turn.ended else timedelta()


def repository_of(session: Session) -> Path | None:
    """Return the working tree of a session; None without git, or if it is gone."""
    if not session.cwd or not os.path.isdir(session.cwd):
        return None
    repository = Repository.find(Path(session.cwd))
    return repository.top if repository else None


def nearest_commit(repo: Path, branch: str | None, when: datetime) -> str | None:
    """Return the commit that a branch was at, by its reflog, else by the times of commits."""
    git = Git(repo)
    name = f"refs/heads/{branch}"
    if branch is None or not git.ask("show-ref", "--verify", "--quiet", name).ok:
        name = "HEAD"
    time = int(when.timestamp())
    log = git.ask("reflog", "show", "--date=unix", "--format=%H %gd", name, "--").output
    for line in log.decode(errors="replace").splitlines():
        commit, _, date = line.partition(" ")
        if int(date[date.rindex("{") + 1 : -1]) <= time:
            return commit
    output = git.ask("rev-list", "-1", "--first-parent", f"--min-age={time}", name, "--").output
    return output.decode().strip() or None


def since(repo: Path, branch: str | None, when: datetime) -> CodeSince | None:
    """Count commits and files written after a turn: older differences may be its own work."""
    git = Git(repo)
    names = set(changed_files(git))
    before = nearest_commit(repo, branch, when)
    commits = 0
    if git.has("HEAD"):
        limits = ("HEAD",) if before is None else (f"{before}..HEAD",)
        commits = int(git.run("rev-list", "--count", *limits, "--"))
        old = git.empty_tree() if before is None else before
        names |= set(map(os.fsdecode, git.items(*_CHANGED, old, "HEAD", "--")))
    files = sum(_is_newer(repo / name, when.timestamp()) for name in names)
    if not (commits or files):
        return None
    return CodeSince(datetime.now(UTC) - when, commits, files)


def _is_newer(path: Path, when: float) -> bool:
    """Tell whether a file was written, moved there or, as far as visible, removed since."""
    for candidate in (path, *path.parents):
        try:
            status = candidate.lstat()
        except OSError:
            continue
        if candidate != path:
            return status.st_mtime > when
        return max(status.st_mtime, status.st_ctime) > when
    return True
