"""A database file: opened by sqlite alone, told apart by its name, replaced under a lock.

`state.lock` is shared by whoever opens or writes state.db; who makes or replaces it has the lock
alone. Sqlite's own locks are not enough for that: nothing in them keeps a file from being replaced
while somebody opens it or writes to it. It is a file of its own, so that no descriptor of the
database is opened beside sqlite. Reading takes no lock at all.
"""

import errno
import fcntl
import os
import sqlite3
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from prong.storage.problems import busy

_PAUSE = 0.005

Identity = tuple[int, int]


def connect(path: Path, patience: float = 5.0) -> sqlite3.Connection:
    """Open a file that is there. For any thread; without transactions of Python's own."""
    # Sqlite would make a missing one, which everybody could read.
    place = f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode=rw"  # noqa: PTH100
    connection = sqlite3.connect(
        place, uri=True, timeout=patience, isolation_level=None, check_same_thread=False
    )
    # One damaged letter must not hide the other facts.
    connection.text_factory = _text
    return connection


def identity(path: Path) -> Identity | None:
    """Which file has this name now; None also where we may not look."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def refuse_special(path: Path) -> None:
    """Raise `OSError` where a device or a pipe has the name of the file or of its log.

    A copy of such a thing may have no end.
    """
    for one in (path, beside(path, "-wal"), beside(path, "-shm")):
        try:
            mode = one.stat().st_mode
        except OSError:
            continue
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, f"{one.name} is not a regular file", str(one))


def beside(path: Path, ending: str) -> Path:
    """Its log, and other files of its name."""
    return path.with_name(path.name + ending)


@contextmanager
def shared(path: Path, patience: float) -> Generator[None]:
    """Keep the file from being replaced. Raises `Busy` when somebody is at it for too long."""
    with _held(path, fcntl.LOCK_SH, patience):
        yield


@contextmanager
def alone(path: Path, patience: float) -> Generator[None]:
    """Be the only one to open or write the file. Raises `Busy` when others hold it too long."""
    with _held(path, fcntl.LOCK_EX, patience):
        yield


@contextmanager
def _held(path: Path, how: int, patience: float) -> Generator[None]:
    descriptor = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        deadline = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise busy(path) from None
                time.sleep(_PAUSE)
            except OSError:
                break  # the file system has no locks: there is nothing to wait for
            else:
                break
        yield
    finally:
        os.close(descriptor)


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")
