"""What `prong doctor` says about code: git, worktrees and snapshots, and how they are mended."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from prong.code import gaps
from prong.code.capture import Capture, IncompleteSnapshot
from prong.code.git import Git
from prong.code.snapshots.message import REFS
from prong.code.worktrees import status
from prong.code.worktrees import worktree as adapter
from prong.code.worktrees.journal import leftovers, sweep
from prong.code.worktrees.record import common_of
from prong.code.worktrees.refs import is_for_a_worktree
from prong.errors import ProngError
from prong.log import debug
from prong.model.amounts import counted
from prong.model.code import TurnKey
from prong.model.findings import Finding, Level
from prong.model.sessions import Conversation, Session, SessionRef
from prong.storage.capture_failures import CaptureFailure
from prong.storage.snapshots import SnapshotRecords

if TYPE_CHECKING:
    from prong.app import App

_OLDEST = (2, 31)
"""The oldest git that knows all the words that prong uses."""
_FIX = "prong doctor --fix"
_RECENT = timedelta(days=7)
"""A capture that failed within this time is a warning, an older one a note."""

_SESSIONS, _READ = 20, 64 << 20
"""So many of the newest sessions with code are read for what they wrote, and so many bytes."""

T = TypeVar("T")


def git() -> Iterable[Finding]:
    """Whether there is a git, and one that is new enough."""
    try:
        said = Git(Path("/")).run("version").decode(errors="replace").strip()
    except ProngError as error:
        message = f"{error.message}: conversations can be forked, but without code"
        yield Finding("git", Level.WARNING, message, "install git")
        return
    found = re.search(r"(\d+)\.(\d+)", said)
    if found and (int(found[1]), int(found[2])) < _OLDEST:
        needed = ".".join(map(str, _OLDEST))
        message = f"{said} is too old: prong needs {needed} to keep code"
        yield Finding("git", Level.WARNING, message, f"install git {needed} or newer")
    else:
        yield Finding("git", Level.OK, said)


def examine(app: App, sessions: Iterable[Session]) -> Iterable[Finding]:
    """Worktrees that are there, half made or lost, and snapshots that were forgotten.

    `sessions`: all, the newest first.
    """
    for root in status.roots(app):
        left = leftovers(root)
        if left:
            message = f"{counted(len(left), 'worktree')} interrupted, in {root}"
            yield Finding("forks", Level.WARNING, message, _FIX)
        found = adapter.listed(root)
        if found:
            message = f"{root}: {counted(len(found), 'worktree')}"
            yield Finding("code", Level.OK, message)
        for path in adapter.strays(root):
            message = f"{path}: the repository of this worktree was moved or deleted"
            hint = f"git worktree repair {path}, in the repository; or delete the folder"
            yield Finding("code", Level.NOTE, message, hint)
    if app.state_health() is not None:
        yield from _snapshots(app)
        yield from _gaps(app, sessions)


def _snapshots(app: App) -> Iterable[Finding]:
    known = _recorded(app)
    if known:
        message = f"{counted(len(known), 'snapshot')} of code recorded"
        yield Finding("code", Level.OK, message)
        return
    # Nothing, or lost: the repositories know.
    there = sum(_has_snapshots(common) for common in repositories(app))
    if there:
        have = "1 repository has" if there == 1 else f"{there} repositories have"
        message = f"no snapshot is recorded, but {have} some"
        yield Finding("code", Level.WARNING, message, _FIX)


def _gaps(app: App, sessions: Iterable[Session]) -> Iterable[Finding]:
    """Captures that failed, and snapshots that are incomplete, by folder."""
    try:
        app.capture.take_in()
        failed = app.capture.failures()
        incomplete = app.capture.incomplete()
        without_lfs = app.capture.without_lfs()
        outside = _with_files_outside(app.capture, sessions, app.conversation)
    except ProngError:
        return  # what is wrong with the file is said elsewhere
    recently = datetime.now(UTC) - _RECENT
    for folder, failures in _grouped(failed, lambda one: one.folder).items():
        last = failures[0]
        ref = SessionRef(last.key.agent, last.key.session)
        message = (
            f"{folder or 'unknown folder'}: the code of {counted(len(failures), 'turn')} was not "
            f"captured, last of {ref}: {last.reason}"
        )
        level = Level.WARNING if last.time > recently else Level.NOTE
        yield Finding("code", level, message, _hint(last, ref))
    yield from _incomplete(incomplete, "snapshot", "incomplete")
    yield from _incomplete(without_lfs, "snapshot", "without the content of LFS files", is_lfs=True)
    yield from _incomplete(outside, "turn", "changed files outside the repository")


def _with_files_outside(
    capture: Capture, sessions: Iterable[Session], read: Callable[[Session], Conversation]
) -> list[IncompleteSnapshot]:
    """Those of the newest sessions with code: only a session knows what its turns wrote."""
    known = capture.sessions()
    found: dict[TurnKey, IncompleteSnapshot] = {}  # a fork shares the turns of its source
    left = _READ
    for session in islice((one for one in sessions if one.ref in known), _SESSIONS):
        left -= session.size
        if left < 0:
            break
        try:
            some = capture.with_files_outside(read(session))
        except Exception as error:  # noqa: BLE001 -- a plug-in may raise anything
            debug(__name__, "what %s wrote is unknown: %s", session.ref, error)
            continue
        for one in some:
            found.setdefault(one.snapshot.key, one)
    return [*found.values()]


def _incomplete(
    found: Iterable[IncompleteSnapshot], noun: str, what: str, *, is_lfs: bool = False
) -> Iterable[Finding]:
    for repo, some in _grouped(found, lambda one: one.snapshot.repo).items():
        last = some[0]
        ref = SessionRef(last.snapshot.agent, last.snapshot.session)
        lacks = gaps.summary(last.gaps)
        message = f"{repo}: {counted(len(some), noun)} {what}, last of {ref}: {lacks}"
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


def fix(app: App) -> Iterable[Finding]:
    """Take back what killed forks left, and record exactly the snapshots that are there."""
    for root in status.roots(app):
        try:
            swept = sweep(root, lambda path: status.is_used(app, path))
        except (OSError, ProngError) as error:
            message = f"cannot remove leftovers in {root}: {error}"
            yield Finding("forks", Level.WARNING, message)
            continue
        for path in swept.removed:
            yield Finding("forks", Level.OK, f"removed {path}")
        for path in swept.kept:
            message = f"{path} is kept: its fork was interrupted, but it contains work"
            yield Finding("forks", Level.NOTE, message, "prong worktrees")
    if app.state_health() is None:
        return
    before = _recorded(app)
    capture = Capture(app.state_dir)
    for folder in repositories(app).values():
        try:
            capture.rebuild([folder])
        except ProngError as error:
            yield Finding("code", Level.WARNING, f"{folder}: {error.message}", error.hint)
    lost = capture.forget_deleted()
    if lost:
        message = f"forgot {counted(lost, 'snapshot')} that no repository has any more"
        yield Finding("code", Level.OK, message)
    new = len(_recorded(app) - before)
    if new:
        message = f"{counted(new, 'snapshot')} recovered from their repositories"
        yield Finding("code", Level.OK, message)


def _recorded(app: App) -> set[str]:
    try:
        records = SnapshotRecords(app.database)
        return {one.ref for one in records.all()}
    except ProngError:
        return set()  # what is wrong with the file is said elsewhere


def repositories(app: App) -> dict[Path, Path]:
    """The repositories that sessions ran in, with one of their folders each."""
    found: dict[Path, Path] = {}
    for session in app.sessions():
        for folder in (session.cwd, *session.cwds):
            if folder and Path(folder).is_dir():
                common = common_of(Path(folder))
                if common is not None:
                    # Rather the repository itself than a worktree, which may go.
                    main = common.parent if common.name == ".git" else Path(folder)
                    found.setdefault(common, main)
    return found


def _has_snapshots(common: Path) -> bool:
    try:
        names = Git(common).run("for-each-ref", "--format=%(refname)", REFS)
        return not all(map(is_for_a_worktree, names.decode(errors="replace").splitlines()))
    except ProngError:
        return False  # a repository that is broken has none that could be used
