"""Access to a database file: opened only by sqlite, identified by inode, replaced under a lock.

Processes that open or write state.db share `state.lock`; one that creates or replaces it locks
exclusively. Sqlite's own locks do not suffice: they cannot keep a file from being replaced while
another process opens or writes it. The lock is a separate file, so that no descriptor of the
database is opened outside sqlite. Reads take no lock at all.

Errors of sqlite and the system are translated for users here.
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

from prong.errors import Busy, Corrupt, External, ProngError
from prong.files.atomic import held

Identity = tuple[int, int]

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_SUSPICIOUS = {*_DAMAGE, sqlite3.SQLITE_ERROR}


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


def result_code(error: sqlite3.Error) -> int:
    """Return the primary result code."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    return result_code(error) in _BUSY


def is_suspicious(error: Exception) -> bool:
    """Whether a damaged file can cause this error, so that the file must be examined.

    A missing table qualifies, and so does a mistake in prong's own SQL. Locks, a full disk, lack of
    memory and disk failures do not.
    """
    # sqlite quotes damaged bytes in its messages, which may not decode.
    is_odd = isinstance(error, UnicodeDecodeError | Corrupt)
    return is_odd or (isinstance(error, sqlite3.Error) and result_code(error) in _SUSPICIOUS)


@contextmanager
def explained(path: Path) -> Generator[None]:
    """Translate errors of sqlite and the system for users."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise  # a bug in prong
    except sqlite3.Error as error:
        raise _problem(error, path) from error
    except UnicodeDecodeError as error:
        raise damaged(error, path) from error
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise _full(path) from error
        message = f"{path} cannot be written: {error.strerror or error}"
        raise External(message, path=str(path)) from error


def busy(path: Path) -> Busy:
    return Busy(f"another process holds {path}", hint="try again", path=str(path))


def _problem(error: sqlite3.Error, path: Path) -> ProngError:
    code = result_code(error)
    if is_busy(error):
        return busy(path)
    if code == sqlite3.SQLITE_FULL:
        return _full(path)
    if code in _DAMAGE:
        return damaged(error, path)
    return External(f"{path} cannot be written: {error}", path=str(path))


def damaged(reason: object, path: Path) -> Corrupt:
    return Corrupt(f"{path} is damaged: {reason}", hint="prong doctor", path=str(path))


def _full(path: Path) -> External:
    return External(f"the disk is full: {path} cannot be written", hint="make room", path=str(path))
