"""Access to a database file: opened only by sqlite, identified by inode, replaced under a lock.

Processes that open or write state.db share `state.lock`; one that creates or replaces it locks
exclusively. Sqlite's own locks do not suffice: they cannot keep a file from being replaced while
another process opens or writes it. The lock is a separate file, so that no descriptor of the
database is opened outside sqlite. Reads take no lock at all.
"""

import errno
import os
import sqlite3
import stat
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import quote

from prong.files.atomic import held
from prong.storage.problems import busy

Identity = tuple[int, int]


def connect(path: Path, patience: float = 5.0) -> sqlite3.Connection:
    """Open an existing file for use by any thread, in autocommit mode."""
    # Sqlite would create a missing file, readable by everyone.
    uri = f"file:{quote(os.fsencode(os.path.abspath(path)))}?mode=rw"  # noqa: PTH100
    connection = sqlite3.connect(
        uri, uri=True, timeout=patience, isolation_level=None, check_same_thread=False
    )
    # One undecodable character must not hide the rest of the data.
    connection.text_factory = _text
    return connection


def identity(path: Path) -> Identity | None:
    """Return the device and inode of the current file; None also without permission."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def refuse_special(path: Path) -> None:
    """Raise `OSError` if the file or its log is a device or a pipe, which copying may never end."""
    for file in (path, beside(path, "-wal"), beside(path, "-shm")):
        try:
            mode = file.stat().st_mode
        except OSError:
            continue
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, f"{file.name} is not a regular file", str(file))


def beside(path: Path, ending: str) -> Path:
    """Return the path of a companion file, such as the log."""
    return path.with_name(path.name + ending)


@contextmanager
def _held(path: Path, patience: float, *, shared: bool) -> Generator[None]:
    with held(path.with_suffix(".lock"), patience, shared=shared) as is_free:
        if not is_free:
            raise busy(path)
        yield


shared = partial(_held, shared=True)
"""Prevent replacement of the file. Raises `Busy` if a replacement takes too long."""
alone = partial(_held, shared=False)
"""Lock the file exclusively. Raises `Busy` if other processes hold it too long."""


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")
