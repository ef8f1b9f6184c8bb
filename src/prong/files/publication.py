"""Atomic publication of a fork's files: all or none appear, even after a crash.

All files are first written to a hidden folder next to their destination. A journal, written before
them, lists the planned moves. The session file is moved last and must be new: that move creates the
fork. `undo` cleans up after a killed process, but leaves the locked journal of a running one alone.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, BinaryIO, Self

from prong.errors import External, Taken, UsageError
from prong.files.atomic import link_new, sync_file, sync_folder
from prong.files.journal import Journal, step
from prong.files.regular import open_regular

STAGING = ".prong-"
"""Prefix of staging folders."""
_SYNCS = 8
_BUFFER = 1 << 16
_IS_THERE = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)
"""Errors of moving a folder to a name that is taken."""


@dataclass(frozen=True)
class _Move:
    staged: Path
    target: Path
    optional: bool
    """Skip the move if the target exists."""


@dataclass
class Publication:
    """Staged files and their publication. Use it in a `with` statement, which cleans up."""

    journal_dir: Path
    check: Callable[[], None] = lambda: None
    """Called when everything is written and nothing published; may raise to cancel."""
    _token: str = field(default_factory=lambda: secrets.token_hex(8))
    _moves: list[_Move] = field(default_factory=list[_Move])
    _staging: dict[Path, Path] = field(default_factory=dict[Path, Path])
    _journal: Journal | None = None
    _published: bool = False

    def stage(self, target: Path, *, optional: bool = False) -> Path:
        """Return where to write what goes to `target`; skip an `optional` one that exists."""
        folder = self._staging_beside(target.parent)
        staged = folder / f"{len(self._moves)}-{target.name}"
        self._moves.append(_Move(staged, target, optional))
        return staged

    def hurry(self, staged: Path) -> None:
        """Start flushing a finished file to disk; `publish` repeats it, and reports errors."""
        Thread(target=sync_folder, args=(staged,), daemon=True).start()

    def publish(self, session_file: Path) -> None:
        """Move the staged files to their places, the session file last: `Taken` if that exists."""
        self.check()
        assert self._journal is not None, "nothing was staged"
        self._moves.sort(key=lambda move: move.target == session_file)
        assert self._moves[-1].target == session_file, "the session file was not staged"
        _sync([move.staged for move in self._moves])
        for move in self._moves[:-1]:
            self._journal.write(
                moved=[str(move.staged), str(move.target)],
                content=_fingerprint(move.staged),
                shared=move.optional,
                replaced=move.target.is_dir(),
            )
            step("move", move.target)
            if not _moved(move.staged, move.target) and not move.optional:
                raise Taken(f"{move.target} exists already", path=str(move.target))
        last = self._moves[-1]
        self._journal.write(last=[str(last.staged), str(last.target)])
        step("publish", last.target)
        try:
            link_new(last.staged, last.target)
        except FileExistsError:
            raise Taken(f"{last.target} exists already", path=str(last.target)) from None
        self._published = True
        for folder in {move.target.parent for move in self._moves}:
            sync_folder(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            clean = self._clean_up()
        except KeyboardInterrupt:
            # Finish despite Ctrl-C: little is left to do.
            self._clean_up()
            raise
        finally:
            if self._journal is not None:
                self._journal.close()
        if isinstance(error, OSError) and not self._published:
            detail = f": {error.filename}" if error.filename else ""
            raise External(
                f"cannot create the fork: {error.strerror or error}{detail}",
                hint="no files were left behind" if clean else "prong doctor --fix",
                path=str(error.filename or ""),
            ) from error

    def _clean_up(self) -> bool:
        """Remove unpublished files. What cannot be removed is left to `undo`, with the journal."""
        path = self.journal_dir / f"{self._token}.jsonl"
        try:
            if self._journal is not None:
                _undo(self._journal.entries)
            if path.exists():
                _remove(path)
        except OSError:
            return False
        return True

    def _staging_beside(self, folder: Path) -> Path:
        """Return the staging folder inside `folder`, creating both if necessary."""
        existing = self._staging.get(folder)
        if existing is not None:
            return existing
        self._journal = self._journal or Journal.create(self.journal_dir, self._token)
        staging = folder / f"{STAGING}{self._token}"
        self._journal.write(staging=str(staging))
        try:
            while not staging.exists():
                self._journal.make_folders(folder)
                step("make", staging)
                # A failing fork may have just removed the folder: try again.
                with suppress(FileNotFoundError):
                    staging.mkdir(mode=0o700)
        except (FileExistsError, NotADirectoryError):
            chain = (folder, *folder.parents)
            blocker = next((path for path in chain if path.exists() and not path.is_dir()), folder)
            raise UsageError(f"{blocker} is not a folder", path=str(blocker)) from None
        self._staging[folder] = staging
        return staging


def writer(path: Path) -> BinaryIO:
    """Create a file that only its owner can read."""
    step("write", path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    return os.fdopen(descriptor, "wb", buffering=_BUFFER)


def copy_file(source: Path, target: Path) -> None:
    """Copy the bytes to a private file, never as a link."""
    with open_regular(source) as reading, writer(target) as writing:
        shutil.copyfileobj(reading, writing, _BUFFER)


def undo(path: Path) -> list[Path]:
    """Clean up after a killed process; if that fails, its journal stays. Returns removed paths."""
    journal = Journal.open(path)
    if journal is None:
        return []
    try:
        removed = _undo(journal.entries)
        _remove(path)
    finally:
        journal.close()
    return removed


def _undo(entries: list[dict[str, Any]]) -> list[Path]:
    """Revert an unfinished fork; published files stay.

    It can be interrupted and repeated: items are moved out of sight as a whole, then deleted.
    """
    removed: list[Path] = []
    last = next((entry["last"] for entry in entries if "last" in entry), None)
    is_finished = last is not None and _is_done(Path(last[0]), Path(last[1]))
    if not is_finished:
        moves = [entry for entry in reversed(entries) if "moved" in entry]
        removed += [Path(move["moved"][1]) for move in moves if _took_back(move)]
    for folder in (Path(entry["staging"]) for entry in entries if "staging" in entry):
        if folder.name.startswith(STAGING) and folder.is_dir():
            _remove(folder)
            removed.append(folder)
    if not is_finished:
        for entry in reversed(entries):
            if "folder" in entry:
                # Only folders that are still empty.
                with suppress(OSError):
                    Path(entry["folder"]).rmdir()
                    removed.append(Path(entry["folder"]))
    return removed


def _took_back(entry: dict[str, Any]) -> bool:
    staged, target = map(Path, entry["moved"])
    is_reverted = not staged.exists() and _is_ours(target, entry)
    if is_reverted:
        step("move", staged)
        staged.parent.mkdir(mode=0o700, exist_ok=True)
        target.rename(staged)
    if entry.get("replaced") and staged.exists():
        with suppress(OSError):  # restore the empty folder that was replaced
            target.mkdir(mode=0o700)
    return is_reverted


def _is_ours(target: Path, entry: dict[str, Any]) -> bool:
    """Whether the target is unchanged and not in use by anyone else."""
    if _fingerprint(target) != entry["content"]:
        return False
    if not entry.get("shared"):
        return True
    # A file next to it that changed after it appeared may rely on it.
    since = target.stat().st_ctime_ns
    with os.scandir(target.parent) as beside:
        return not any(file.is_file() and file.stat().st_ctime_ns >= since for file in beside)


def _is_done(staged: Path, target: Path) -> bool:
    try:
        published = target.stat()
    except OSError:
        return False
    try:
        return staged.stat().st_ino == published.st_ino
    except OSError:
        return True


def _moved(staged: Path, target: Path) -> bool:
    """Move a folder; False if the target exists. An empty target folder is replaced."""
    assert not staged.is_file(), "a file would replace what is there"
    try:
        staged.rename(target)
    except OSError as error:
        if error.errno in _IS_THERE and target.exists():
            return False
        raise
    return True


def _remove(path: Path) -> None:
    step("remove", path)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, _, names in os.walk(path):
        for name in sorted(names):
            yield Path(folder) / name


def _fingerprint(path: Path) -> list[list[str | int]] | None:
    """Return names, sizes and times of all files; None if nothing exists."""
    entries: list[list[str | int]] = []
    try:
        for file in _files(path):
            stat = file.lstat()
            entries.append([str(file.relative_to(path)), stat.st_size, stat.st_mtime_ns])
    except OSError:
        return None
    return sorted(entries)


def _sync(paths: list[Path]) -> None:
    """Flush all files to disk in parallel: the disk orders many writes best itself."""
    from concurrent.futures import ThreadPoolExecutor

    files = [file for path in paths for file in _files(path)]
    step("sync", paths[-1])
    with ThreadPoolExecutor(_SYNCS) as pool:
        list(pool.map(sync_file, files))
    for path in paths:
        if path.is_dir():
            for folder, _, _ in os.walk(path):
                sync_folder(Path(folder))
