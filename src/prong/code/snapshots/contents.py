"""Changed files of the working tree: read while others may write them, and sent to git."""

import errno
import json
import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

from prong.code.git import Deadline
from prong.code.snapshots.fast_import import Import, ImportedEntry
from prong.code.snapshots.refs import LISTED
from prong.files.regular import read_regular
from prong.model.code import LeftOut

_TRIES = 6
_PAUSE = 0.001
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
LINK = b"120000"
PLAIN = b"100644"
PROGRAM = b"100755"
_SETTLED = 2 * 10**9
"""Nanoseconds after which a write changes the file's time, on every file system."""
_NAMED = 3
"""Maximum number of files named in a note."""
_REFUSED = b".git"
_REFUSED_LINK = b".gitmodules"
"""Names that git accepts in no index: a tree with them could not be checked out."""


class FileContent(NamedTuple):
    mode: bytes
    data: bytes
    stat: os.stat_result
    steady: bool = True
    """False if the file changed during every attempt: the content may be torn."""


class Refusal(NamedTuple):
    size: int
    reason: str


def mode_of(status: os.stat_result) -> bytes:
    if stat.S_ISLNK(status.st_mode):
        return LINK
    return PROGRAM if status.st_mode & stat.S_IXUSR else PLAIN


def signature(status: os.stat_result) -> tuple[int, ...]:
    """Return a signature that changes when a file is written."""
    times = status.st_mtime_ns, status.st_ctime_ns
    return (status.st_ino, status.st_size, *times, status.st_mode)


def read(path: bytes, limit: int) -> FileContent | Refusal | None:
    """Read a file or the target of a link; None if it does not exist."""
    last: FileContent | None = None
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE * 2**attempt)
        try:
            result = _read_once(path, limit)
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTDIR}:
                return None
            if error.errno in {errno.ELOOP, errno.EINVAL}:
                continue  # a file became a link, or vice versa
            return Refusal(0, f"not readable: {error.strerror}")
        if not isinstance(result, FileContent) or result.steady:
            return result
        last = result
    return last or Refusal(0, "not readable: it changed all the time")


def _read_once(path: bytes, limit: int) -> FileContent | Refusal | None:
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(path)  # noqa: PTH115 (a Path would tidy it)
        return FileContent(LINK, target, status)
    if stat.S_ISDIR(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        return Refusal(0, "not a file: a pipe, a socket or a device")
    too_large = f"larger than {limit / 1e6:g} MB"
    if status.st_size > limit:
        return Refusal(status.st_size, too_large)
    descriptor = os.open(path, _FLAGS)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise OSError(errno.EINVAL, "it became something else")
        data = _read_all(descriptor, before.st_size, limit)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        return Refusal(after.st_size, too_large)
    steady = len(data) == before.st_size and signature(before) == signature(after)
    return FileContent(mode_of(before), data, before, steady)


def _read_all(descriptor: int, size: int, limit: int) -> bytes:
    data = os.read(descriptor, size + 1)
    if len(data) == size:
        return data
    pieces = [data]
    while sum(map(len, pieces)) <= limit and (piece := os.read(descriptor, 1 << 20)):
        pieces.append(piece)
    return b"".join(pieces)


class Known:
    """A cache of path -> signature and blob: an unchanged file is not read again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.used = False
        self._old: dict[str, list[Any]] = {}
        self._new: dict[str, list[Any]] = {}
        with suppress(OSError, ValueError):
            loaded: Any = json.loads(read_regular(path))
            if isinstance(loaded, dict):
                self._old = cast(dict[str, list[Any]], loaded)

    def __len__(self) -> int:
        """Return the number of files in the last run."""
        return len(self._old)

    def blob(self, name: bytes, status: os.stat_result) -> str | None:
        key = os.fsdecode(name)
        match self._old.get(key):
            case [*recorded, str(blob)] if recorded == list(signature(status)):
                self._new[key] = [*recorded, blob]
                self.used = True
                return blob
            case _:
                return None

    def learn(self, name: bytes, status: os.stat_result, blob: str, read: int) -> None:
        """Remember a file's blob; `read` is a time before it was read."""
        if max(status.st_mtime_ns, status.st_ctime_ns) < read - _SETTLED:
            self._new[os.fsdecode(name)] = [*signature(status), blob]

    def forget(self) -> None:
        self.used = False
        self._old, self._new = {}, {}

    def save(self, temporary: Path) -> None:
        """Save the files seen in this run and drop all others."""
        if self._new == self._old:
            return
        with suppress(OSError):
            temporary.write_text(json.dumps(self._new))
            temporary.replace(self._path)


class Contents:
    """Reads changed files and sends their content to the stream."""

    def __init__(
        self, top: bytes, stream: Import, known: Known, deadline: Deadline, limit: int
    ) -> None:
        self._top = top
        self._stream = stream
        self._known = known
        self._deadline = deadline
        self._limit = limit
        self.entries: list[ImportedEntry] = []
        self.gone: list[bytes] = []
        self.left_out: list[LeftOut] = []
        self.learned: list[tuple[bytes, os.stat_result, str]] = []
        self._torn: list[str] = []
        self._late = 0

    def notes(self) -> list[str]:
        notes: list[str] = []
        if self._torn:
            hidden = len(self._torn) - _NAMED
            more = f" and {hidden} more" if hidden > 0 else ""
            notes.append(f"written while they were read: {', '.join(self._torn[:_NAMED])}{more}")
        if self._late:
            notes.append(f"out of time: {self._late} files were not read")
        return notes

    def read(self, path: bytes, mode: bytes | None) -> None:
        """Read a file; `mode` overrides that of the file system."""
        full = b"%s/%s" % (self._top, path)
        if self._deadline.over:
            self._late += 1
            # Even asking for sizes takes time, so only for files that will be listed.
            named = len(self.left_out) < LISTED
            self._leave_out(path, _size(full) if named else 0, "out of time")
            return
        names = path.lower().split(b"/")
        if _REFUSED in names:
            self._leave_out(path, _size(full), "git takes no file of this name")
            return
        with suppress(OSError):
            status = os.lstat(full)
            blob = self._known.blob(path, status)
            if blob is not None and status.st_size <= self._limit:
                self.entries.append(ImportedEntry(mode or mode_of(status), blob, path))
                return
        result = read(full, self._limit)
        if result is None:
            self.gone.append(path)
        elif isinstance(result, Refusal):
            self._leave_out(path, result.size, result.reason)
        elif result.mode == LINK and _REFUSED_LINK in names:
            self._leave_out(path, 0, "git takes no link of this name")
        else:
            mark = self._stream.blob(result.data)
            self.entries.append(ImportedEntry(mode or result.mode, mark, path))
            if result.steady:
                self.learned.append((path, result.stat, mark))
            else:
                self._torn.append(os.fsdecode(path))

    def _leave_out(self, path: bytes, size: int, reason: str) -> None:
        self.left_out.append(LeftOut(os.fsdecode(path), size, reason))


def _size(path: bytes) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
