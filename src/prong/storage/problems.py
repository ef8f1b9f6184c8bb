"""Errors of sqlite and the system about state.db, translated for users."""

import errno
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from prong.errors import Busy, Corrupt, External, ProngError

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_SUSPICIOUS = {*_DAMAGE, sqlite3.SQLITE_ERROR}


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
