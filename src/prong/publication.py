"""New files that appear together or not at all, also when the machine stops in the middle.

Everything is first written into a hidden folder beside its final place. A journal, written before
anything else, says what is going to be moved where. The session file is moved last, and it must
be new: from that instant on the fork exists, before it nothing of it does. `undo` takes back what
a killed process left; a journal that a living process holds is locked and left alone.

Every step raises the audit event `prong.step`, so that a test can stop the world at each of them.
"""

import fcntl
import json
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

from prong.errors import External, Taken, UsageError
from prong.paths import private_dir

STAGING = ".prong-"
"""How the names of staging folders begin."""
_SYNCS = 8


@dataclass(frozen=True)
class _Move:
    staged: Path
    target: Path
    optional: bool
    """Left out when something is there already."""


@dataclass
class Publication:
    """Stages files, then publishes them. Use it in a `with` statement: leaving it cleans up."""

    journal_dir: Path
    check: Callable[[], None] = lambda: None
    """Called when all is written, before anything is published: the last chance to say no."""
    _token: str = field(default_factory=lambda: secrets.token_hex(8))
    _moves: list[_Move] = field(default_factory=list[_Move])
    _staging: dict[Path, Path] = field(default_factory=dict[Path, Path])
    _made: list[Path] = field(default_factory=list[Path])
    _journal: "_Journal | None" = None
    _published: bool = False

    def stage(self, target: Path, *, optional: bool = False) -> Path:
        """Where to write what will be at `target`: a file or a folder, on the same disk."""
        folder = self._staging_beside(target.parent)
        staged = folder / f"{len(self._moves)}-{target.name}"
        self._moves.append(_Move(staged, target, optional))
        return staged

    def publish(self, session_file: Path) -> None:
        """Move everything that was staged to its place, `session_file` last.

        Raises `Taken` when it exists already; then nothing was published.
        """
        self.check()
        journal = self._open_journal()
        self._moves.sort(key=lambda move: move.target == session_file)
        assert self._moves, "nothing was staged"
        assert self._moves[-1].target == session_file, "the session file was not staged"
        _sync([move.staged for move in self._moves])
        for move in self._moves[:-1]:
            if _is_there(move.target):
                if move.optional:
                    continue
                raise Taken(f"{move.target} exists already", path=str(move.target))
            journal.write(
                moved=[str(move.staged), str(move.target)], content=_fingerprint(move.staged)
            )
            _step("move", move.target)
            move.staged.rename(move.target)
        last = self._moves[-1]
        journal.write(last=[str(last.staged), str(last.target)])
        _step("publish", last.target)
        try:
            # A link fails when the name is taken; a rename would replace what is there.
            os.link(last.staged, last.target)
        except FileExistsError:
            raise Taken(f"{last.target} exists already", path=str(last.target)) from None
        except OSError:
            # Not every file system has links.
            if last.target.exists():
                raise Taken(f"{last.target} exists already", path=str(last.target)) from None
            last.staged.rename(last.target)
        self._published = True
        for folder in {move.target.parent for move in self._moves}:
            _sync_folder(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._journal is None:
            return
        _undo(self._journal.entries())
        self._journal.remove()
        if isinstance(error, OSError) and not self._published:
            raise External(
                f"the fork could not be written: {error.strerror or error}",
                hint="nothing of it was left behind",
                path=str(error.filename or ""),
            ) from error

    def _open_journal(self) -> "_Journal":
        if self._journal is None:
            self._journal = _Journal.create(self.journal_dir, self._token)
        return self._journal

    def _staging_beside(self, folder: Path) -> Path:
        """The hidden folder for what will be in `folder`; both are made when they are missing."""
        known = self._staging.get(folder)
        if known is not None:
            return known
        journal = self._open_journal()
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        for path in reversed(missing):
            journal.write(folder=str(path))
            _step("make", path)
            try:
                path.mkdir(mode=0o700)
            except FileExistsError:
                if not path.is_dir():
                    raise UsageError(f"{path} is not a folder", path=str(path)) from None
            except NotADirectoryError:
                raise UsageError(f"{path.parent} is not a folder", path=str(path)) from None
        staging = folder / f"{STAGING}{self._token}"
        journal.write(staging=str(staging))
        _step("make", staging)
        staging.mkdir(mode=0o700)
        self._staging[folder] = staging
        return staging


def writer(path: Path) -> BinaryIO:
    """A new file, readable by its owner only."""
    _step("write", path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    return os.fdopen(descriptor, "wb", buffering=1 << 20)


def copy_file(source: Path, target: Path) -> None:
    """A private copy of the bytes, never a link."""
    with source.open("rb") as reading, writer(target) as writing:
        shutil.copyfileobj(reading, writing, 1 << 20)


@dataclass(frozen=True)
class Leftover:
    """A fork that was not finished."""

    journal: Path
    staging: tuple[Path, ...]


def leftovers(journal_dir: Path) -> list[Leftover]:
    """What killed processes left behind."""
    found: list[Leftover] = []
    for path in sorted(journal_dir.glob("*.jsonl")):
        journal = _Journal.open(path)
        if journal is None:
            continue
        staging = [Path(entry["staging"]) for entry in journal.entries() if "staging" in entry]
        found.append(Leftover(path, tuple(staging)))
        journal.close()
    return found


def undo(leftover: Leftover) -> list[Path]:
    """Clean up after a killed process. Returns what was removed."""
    journal = _Journal.open(leftover.journal)
    if journal is None:
        return []
    removed = _undo(journal.entries())
    journal.remove()
    return removed


def _undo(entries: list[dict[str, Any]]) -> list[Path]:
    """Take back what was not finished; what was published stays."""
    removed: list[Path] = []
    staging = [Path(entry["staging"]) for entry in entries if "staging" in entry]
    last = next((entry["last"] for entry in entries if "last" in entry), None)
    done = last is not None and _is_done(Path(last[0]), Path(last[1]))
    if not done:
        for entry in reversed(entries):
            if "moved" not in entry:
                continue
            staged, target = map(Path, entry["moved"])
            # Somebody may use it by now; then it is theirs.
            if not _is_there(staged) and _fingerprint(target) == entry["content"]:
                _remove(target)
                removed.append(target)
    for folder in staging:
        if folder.is_dir() and folder.name.startswith(STAGING):
            _remove(folder)
            removed.append(folder)
    if not done:
        for entry in reversed(entries):
            if "folder" in entry:
                # Only what is still empty.
                with suppress(OSError):
                    Path(entry["folder"]).rmdir()
                    removed.append(Path(entry["folder"]))
    return removed


def _is_done(staged: Path, target: Path) -> bool:
    try:
        there = target.stat()
    except OSError:
        return False
    try:
        return staged.stat().st_ino == there.st_ino
    except OSError:
        return True


class _Journal:
    """An append-only file of JSON lines, locked while its writer lives."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file

    @classmethod
    def create(cls, folder: Path, token: str) -> "_Journal":
        private_dir(folder)
        path = folder / f"{token}.jsonl"
        _step("write", path)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return cls(path, os.fdopen(descriptor, "r+b", buffering=0))

    @classmethod
    def open(cls, path: Path) -> "_Journal | None":
        """None while its writer lives, or when it is gone by now."""
        try:
            descriptor = os.open(path, os.O_RDWR)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return None
        return cls(path, os.fdopen(descriptor, "r+b", buffering=0))

    def write(self, **entry: Any) -> None:
        _step("write", self._path)
        self._file.write(json.dumps(entry).encode() + b"\n")
        os.fsync(self._file.fileno())

    def entries(self) -> list[dict[str, Any]]:
        self._file.seek(0)
        found: list[dict[str, Any]] = []
        for line in self._file.read().split(b"\n"):
            with suppress(ValueError):
                found.append(cast(dict[str, Any], json.loads(line)))
        return found

    def close(self) -> None:
        self._file.close()

    def remove(self) -> None:
        _step("remove", self._path)
        self._path.unlink(missing_ok=True)
        self.close()


def _step(what: str, path: Path) -> None:
    sys.audit("prong.step", what, str(path))


def _is_there(path: Path) -> bool:
    """True for a file or a folder with something in it; an empty folder is as good as none."""
    try:
        return next(path.iterdir(), None) is not None
    except NotADirectoryError:
        return True
    except FileNotFoundError:
        return False


def _remove(path: Path) -> None:
    _step("remove", path)
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
    """Names, sizes and times of what is there; None when nothing is."""
    found: list[list[str | int]] = []
    try:
        for file in _files(path):
            stat = file.lstat()
            found.append([str(file.relative_to(path)), stat.st_size, stat.st_mtime_ns])
    except OSError:
        return None
    return sorted(found)


def _sync(paths: list[Path]) -> None:
    """Onto the disk, all at the same time: the disk orders many writes better than we could."""
    from concurrent.futures import ThreadPoolExecutor

    files = [file for path in paths for file in _files(path)]
    _step("sync", paths[-1])
    with ThreadPoolExecutor(_SYNCS) as pool:
        list(pool.map(_sync_file, files))
    for path in paths:
        if path.is_dir():
            for folder, _, _ in os.walk(path):
                _sync_folder(Path(folder))


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(path: Path) -> None:
    with suppress(OSError):  # not every file system can
        _sync_file(path)
