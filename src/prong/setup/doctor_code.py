"""Doctor checks and repairs of git, worktrees and snapshots."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TypeVar

from prong.code import gaps
from prong.code.capture import Capture, IncompleteSnapshot
from prong.code.git import Git
from prong.code.service import CodeService
from prong.code.snapshots.refs import REFS
from prong.code.worktrees import worktree as adapter
from prong.code.worktrees.journal import leftovers, sweep
from prong.code.worktrees.record import common_of
from prong.code.worktrees.refs import is_for_a_worktree
from prong.errors import ProngError
from prong.log import debug
from prong.model.amounts import counted
from prong.model.code import TurnKey
from prong.model.findings import Finding, Level
from prong.model.record import Record
from prong.model.sessions import Conversation, Session, SessionRef
from prong.session.service import SessionService
from prong.storage.snapshots import CaptureFailure, SnapshotRecords

_OLDEST = (2, 31)
"""The oldest git with every option that prong uses."""
_FIX = "prong doctor --fix"
_RECENT = timedelta(days=7)
"""Newer failed captures are warnings, older ones are notes."""

_SESSIONS, _READ = 20, 64 << 20
"""How many of the newest sessions with code to read, and how many bytes, for files they wrote."""

T = TypeVar("T")


def git() -> Iterable[Finding]:
    """Check that git is present and new enough."""
    try:
        output = Git(Path("/")).run("version").decode(errors="replace").strip()
    except ProngError as error:
        message = f"{error.message}: conversations can be forked, but without code"
        yield Finding("git", Level.WARNING, message, "install git")
        return
    version = re.search(r"(\d+)\.(\d+)", output)
    if version and (int(version[1]), int(version[2])) < _OLDEST:
        needed = ".".join(map(str, _OLDEST))
        message = f"{output} is too old: prong needs {needed} to keep code"
        yield Finding("git", Level.WARNING, message, f"install git {needed} or newer")
    else:
        yield Finding("git", Level.OK, output)


class CodeDoctor(Record, frozen=True):
    """Checks and repairs of worktrees and snapshots."""

    code: CodeService
    sessions: SessionService
    state: Path
    is_recording: bool
    """Whether the records below `state` are used."""

    def examine(self, sessions: Iterable[Session]) -> Iterable[Finding]:
        """Report existing, half-made and lost worktrees, and missing snapshot records.

        `sessions`: all of them, newest first.
        """
        for root in self.code.worktrees.roots:
            unfinished = leftovers(root)
            if unfinished:
                message = f"{counted(len(unfinished), 'worktree')} interrupted, in {root}"
                yield Finding("forks", Level.WARNING, message, _FIX)
            worktrees = adapter.listed(root)
            if worktrees:
                message = f"{root}: {counted(len(worktrees), 'worktree')}"
                yield Finding("code", Level.OK, message)
            for path in adapter.strays(root):
                message = f"{path}: the repository of this worktree was moved or deleted"
                hint = f"git worktree repair {path}, in the repository; or delete the folder"
                yield Finding("code", Level.NOTE, message, hint)
        if self.is_recording:
            yield from self._snapshots()
            yield from self._gaps(sessions)

    def _snapshots(self) -> Iterable[Finding]:
        recorded = self._recorded()
        if recorded:
            message = f"{counted(len(recorded), 'snapshot')} of code recorded"
            yield Finding("code", Level.OK, message)
            return
        # No snapshots, or lost records: ask the repositories.
        count = sum(_has_snapshots(common) for common in repositories(self.sessions.all()))
        if count:
            have = "1 repository has" if count == 1 else f"{count} repositories have"
            message = f"no snapshot is recorded, but {have} some"
            yield Finding("code", Level.WARNING, message, _FIX)

    def _gaps(self, sessions: Iterable[Session]) -> Iterable[Finding]:
        """Report failed captures and incomplete snapshots, by folder."""
        try:
            self.code.capture.take_in()
            failed = self.code.capture.failures()
            incomplete = self.code.capture.incomplete()
            without_lfs = self.code.capture.without_lfs()
            outside = _with_files_outside(self.code.capture, sessions, self.sessions.conversation)
        except ProngError:
            return  # the problem with the file is reported elsewhere
        recently = datetime.now(UTC) - _RECENT
        for folder, failures in _grouped(failed, lambda one: one.folder).items():
            last = failures[0]
            ref = SessionRef(last.key.agent, last.key.session)
            count = counted(len(failures), "turn")
            message = (
                f"{folder or 'unknown folder'}: the code of {count} was not captured, "
                f"last of {ref}: {last.reason}"
            )
            level = Level.WARNING if last.time > recently else Level.NOTE
            yield Finding("code", level, message, _hint(last, ref))
        yield from _incomplete(incomplete, "snapshot", "incomplete")
        yield from _incomplete(
            without_lfs, "snapshot", "without the content of LFS files", is_lfs=True
        )
        yield from _incomplete(outside, "turn", "changed files outside the repository")

    def fix(self) -> Iterable[Finding]:
        """Undo what killed forks left, and make the snapshot records match the repositories."""
        for root in self.code.worktrees.roots:
            try:
                swept = sweep(root, self.code.worktrees.is_used)
            except (OSError, ProngError) as error:
                message = f"cannot remove leftovers in {root}: {error}"
                yield Finding("forks", Level.WARNING, message)
                continue
            for path in swept.removed:
                yield Finding("forks", Level.OK, f"removed {path}")
            for path in swept.kept:
                message = f"{path} is kept: its fork was interrupted, but it contains work"
                yield Finding("forks", Level.NOTE, message, "prong worktrees")
        if not self.is_recording:
            return
        before = self._recorded()
        capture = Capture(self.state)
        for folder in repositories(self.sessions.all()).values():
            try:
                capture.rebuild(folder)
            except ProngError as error:
                yield Finding("code", Level.WARNING, f"{folder}: {error.message}", error.hint)
        lost = capture.forget_deleted()
        if lost:
            message = f"forgot {counted(lost, 'snapshot')} that no repository has any more"
            yield Finding("code", Level.OK, message)
        new = len(self._recorded() - before)
        if new:
            message = f"{counted(new, 'snapshot')} recovered from their repositories"
            yield Finding("code", Level.OK, message)

    def _recorded(self) -> set[str]:
        try:
            records = SnapshotRecords(self.state / "state.db")
            return {snapshot.ref for snapshot in records.all()}
        except ProngError:
            return set()  # the problem with the file is reported elsewhere


def _with_files_outside(
    capture: Capture, sessions: Iterable[Session], read: Callable[[Session], Conversation]
) -> list[IncompleteSnapshot]:
    """Find recent turns that wrote outside the repository, which only sessions show."""
    refs = capture.sessions()
    by_turn: dict[TurnKey, IncompleteSnapshot] = {}  # a fork shares the turns of its source
    budget = _READ
    for session in islice((item for item in sessions if item.ref in refs), _SESSIONS):
        budget -= session.size
        if budget < 0:
            break
        try:
            incomplete = capture.with_files_outside(read(session))
        except Exception as error:  # noqa: BLE001 -- a plug-in may raise anything
            debug(__name__, "what %s wrote is unknown: %s", session.ref, error)
            continue
        for item in incomplete:
            by_turn.setdefault(item.snapshot.key, item)
    return [*by_turn.values()]


def _incomplete(
    found: Iterable[IncompleteSnapshot], noun: str, what: str, *, is_lfs: bool = False
) -> Iterable[Finding]:
    for repo, snapshots in _grouped(found, lambda one: one.snapshot.repo).items():
        last = snapshots[0]
        ref = SessionRef(last.snapshot.agent, last.snapshot.session)
        summary = gaps.summary(last.gaps)
        message = f"{repo}: {counted(len(snapshots), noun)} {what}, last of {ref}: {summary}"
        hint = f"git -C {shlex.quote(str(repo))} lfs pull" if is_lfs else f"prong turns {ref}"
        yield Finding("code", Level.NOTE, message, hint)


def _hint(failure: CaptureFailure, ref: SessionRef) -> str:
    if "dubious ownership" in failure.reason and failure.folder:
        return f"git config --global --add safe.directory {shlex.quote(str(failure.folder))}"
    return f"prong snapshot {ref}"


def _grouped(values: Iterable[T], key: Callable[[T], Path | None]) -> dict[Path | None, list[T]]:
    groups: dict[Path | None, list[T]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def repositories(sessions: Iterable[Session]) -> dict[Path, Path]:
    """Return the repositories that sessions ran in, each with one of its folders."""
    folders: dict[Path, Path] = {}
    for session in sessions:
        for folder in (session.cwd, *session.cwds):
            if folder and os.path.isdir(folder):
                common = common_of(Path(folder))
                if common is not None:
                    # Prefer the main working tree, because a worktree may be removed.
                    main = common.parent if common.name == ".git" else Path(folder)
                    folders.setdefault(common, main)
    return folders


def _has_snapshots(common: Path) -> bool:
    try:
        names = Git(common).run("for-each-ref", "--format=%(refname)", REFS)
        return not all(map(is_for_a_worktree, names.decode(errors="replace").splitlines()))
    except ProngError:
        return False  # a broken repository has no usable snapshots
