"""Opening state.db: safe with several processes, with damage, and where nothing can be written.

Every operation opens the file and closes it again, so no process holds on to a file that another
one has set aside. Whoever opens it holds `state.lock` while it is looked at: a new file is then
made by one process only, and a damaged one is moved once.
"""

import errno
import os
import sqlite3
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from prong.errors import Busy, Corrupt, External, ProngError, Unsupported
from prong.lock import locked
from prong.log import debug
from prong.paths import private_dir
from prong.state.migrations import is_complete, migrate, refuse_newer

PATIENCE = 5.0
"""For how many seconds another process is waited for."""

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}
"""What a question that every file of ours can answer fails with; a lock is none of them."""


@contextmanager
def writing(path: Path) -> Generator[sqlite3.Connection]:
    """A connection in a transaction, which is kept when the block ends well.

    Raises `External` when the file cannot be written, `Busy` when others write all the time, and
    `Unsupported` when a newer prong has written it.
    """
    with _explained(path):
        connection = _open(path)
        try:
            connection.execute("BEGIN IMMEDIATE")
            # An error or an interrupt ends in `close`, which rolls back.
            yield connection
            sys.audit("prong.step", "record", str(path))
            connection.execute("COMMIT")
        finally:
            connection.close()


@contextmanager
def reading(path: Path) -> Generator[sqlite3.Connection | None]:
    """A connection to read from; None when there is nothing, or nothing that can be read.

    Raises `Unsupported` when a newer prong has written it.
    """
    with ExitStack() as stack, _explained(path):
        connection = _open_readable(path, stack)
        if connection is not None:
            stack.callback(connection.close)
        yield connection


def problem_with(path: Path) -> str | None:
    """Why nothing can be recorded; None when all is well. Makes nothing that is not there."""
    if _is_there(path):
        try:
            with _explained(path):
                _open(path).close()
        except ProngError as error:
            return error.message
        return None
    there = next(folder for folder in path.parents if _is_there(folder))
    return None if os.access(there, os.W_OK | os.X_OK) else f"{there} cannot be written"


def set_aside(path: Path) -> list[Path]:
    """Damaged files that were moved out of the way, oldest first."""
    files = (one for one in path.parent.glob(f"{path.name}.damaged-*") if one.suffix[9:].isdigit())
    return sorted(files, key=lambda one: int(one.suffix[9:]))


def _open_readable(path: Path, stack: ExitStack) -> sqlite3.Connection | None:
    if not _is_there(path):
        return None
    try:
        with _explained(path):
            return _open(path)
    except Unsupported:
        raise
    except ProngError as error:
        debug(__name__, "reading a copy: %s", error)
    # In a folder that cannot be written sqlite cannot make the side files that it needs to read.
    import tempfile  # slow to load

    try:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="prong-"))
        copy = Path(folder) / path.name
        import shutil

        shutil.copyfile(path, copy)
        with suppress(FileNotFoundError):
            shutil.copyfile(_beside(path, "-wal"), _beside(copy, "-wal"))
        with _explained(copy):
            return _open(copy)
    except Unsupported:
        raise
    except (ProngError, OSError) as error:
        debug(__name__, "no recorded forks: %s", error)
        return None


def _open(path: Path) -> sqlite3.Connection:
    private_dir(path.parent)
    with _alone(path):
        try:
            return _connect(path)
        except Corrupt as error:
            debug(__name__, "%s is damaged: %s", path, error)
        _move_aside(path)
        return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    # One damaged letter must not hide the other facts.
    connection.text_factory = _text
    try:
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    _check(connection)
    connection.execute("PRAGMA journal_mode = WAL")
    # A fork is recorded in one transaction of its own: it may wait for the disk.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    migrate(connection)


def _check(connection: sqlite3.Connection) -> None:
    """Raise `Corrupt` when this is not our database, or no longer."""
    try:
        refuse_newer(connection)
        # Less than a millisecond for a thousand forks.
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        complete = is_complete(connection)
    except UnicodeDecodeError as error:
        raise Corrupt(str(error)) from error  # sqlite quotes what it found, whatever it is
    except sqlite3.Error as error:
        if _code(error) in _DAMAGE:
            raise Corrupt(str(error)) from error
        raise
    if found != "ok" or not complete:
        raise Corrupt(found if complete else "tables are missing")


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


@contextmanager
def _alone(path: Path) -> Generator[None]:
    """Let one process at a time look at the file.

    Sqlite's own locks are not enough: the switch to WAL fails at once when another process is
    reading, and nothing in them keeps two processes from moving the file aside.
    """
    descriptor = os.open(path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if not locked(descriptor, PATIENCE):
            raise Busy(f"another process holds {path}", hint="try again")
        yield
    finally:
        os.close(descriptor)


def _move_aside(path: Path) -> None:
    """Out of the way, but kept. Its log first: a new file must never meet it."""
    number = 1
    while _beside(path, f".damaged-{number}").exists():
        number += 1
    for ending in ("-wal", "-shm", ""):
        with suppress(FileNotFoundError):
            _beside(path, ending).rename(_beside(path, f".damaged-{number}{ending}"))


def _is_there(path: Path) -> bool:
    """False also where we may not look."""
    try:
        path.stat()
    except OSError:
        return False
    return True


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _code(error: sqlite3.Error) -> int:
    """The primary result code."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


@contextmanager
def _explained(path: Path) -> Generator[None]:
    """Turn what sqlite and the system say into errors for people."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise  # a bug of ours
    except sqlite3.Error as error:
        raise _problem(error, path) from error
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise _full(path) from error
        message = f"{path} cannot be written: {error.strerror or error}"
        raise External(message, path=str(path)) from error


def _problem(error: sqlite3.Error, path: Path) -> ProngError:
    code = _code(error)
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return Busy(f"another process holds {path}", hint="try again", path=str(path))
    if code == sqlite3.SQLITE_FULL:
        return _full(path)
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        hint = "try again: it will be moved aside, and a new one made"
        return Corrupt(f"{path} is damaged: {error}", hint=hint, path=str(path))
    return External(f"{path} cannot be written: {error}", path=str(path))


def _full(path: Path) -> External:
    return External(f"the disk is full: {path} cannot be written", hint="make room", path=str(path))
