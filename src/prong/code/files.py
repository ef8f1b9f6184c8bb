"""Consistent reads of files that may be written at the same time."""

import errno
import os
import stat
import time
from typing import NamedTuple

_TRIES = 6
_PAUSE = 0.001
_GONE = (errno.ENOENT, errno.ENOTDIR)
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

LINK = b"120000"
PLAIN = b"100644"
PROGRAM = b"100755"


class FileContent(NamedTuple):
    """The content of a file at one moment."""

    mode: bytes
    data: bytes
    stat: os.stat_result
    steady: bool = True
    """False if the file changed during every attempt: the content may be torn."""


class Refusal(NamedTuple):
    """The reason why a file was not read."""

    size: int
    reason: str


def mode_of(status: os.stat_result) -> bytes:
    """Return the mode that git would record."""
    if stat.S_ISLNK(status.st_mode):
        return LINK
    return PROGRAM if status.st_mode & stat.S_IXUSR else PLAIN


def same(one: os.stat_result, other: os.stat_result) -> bool:
    """Tell whether a file was not written between two `stat` calls."""
    return signature(one) == signature(other)


def signature(status: os.stat_result) -> tuple[int, ...]:
    return (
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_mode,
    )


def read(path: bytes, limit: int) -> FileContent | Refusal | None:
    """Read a file or the target of a link; None if it does not exist."""
    last: FileContent | None = None
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE * 2**attempt)
        try:
            result = _read_once(path, limit)
        except OSError as error:
            if error.errno in _GONE:
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
    if status.st_size > limit:
        return Refusal(status.st_size, _too_large(limit))
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
        return Refusal(after.st_size, _too_large(limit))
    steady = len(data) == before.st_size and same(before, after)
    return FileContent(mode_of(before), data, before, steady)


def _too_large(limit: int) -> str:
    return f"larger than {limit / 1e6:g} MB"


def _read_all(descriptor: int, size: int, limit: int) -> bytes:
    """Read to the end, or slightly past the limit."""
    data = os.read(descriptor, size + 1)
    if len(data) == size:
        return data
    pieces = [data]
    total = len(data)
    while total <= limit:
        piece = os.read(descriptor, 1 << 20)
        if not piece:
            break
        pieces.append(piece)
        total += len(piece)
    return b"".join(pieces)
