"""state.db: one connection in each process, which all of its threads share.

The file is opened by sqlite alone. POSIX locks belong to the process: closing any other descriptor
of the file would drop those that sqlite holds, and another process would write at the same time.
Version and tables are looked at when the file is opened; an access costs no more than its
statements. Reading takes no lock that another process could hold.

A process notices at its next access that the file was replaced or deleted, and goes on with what is
there now. A forked child has connections of its own.
"""

import atexit
import os
import random
import sqlite3
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock
from typing import Any, TypeVar

from prong.errors import Busy, Corrupt, ProngError, Unsupported
from prong.log import debug
from prong.paths import private_dir, private_file
from prong.storage import repairs
from prong.storage.file import Identity, alone, connect, identity, refuse_special, shared
from prong.storage.migrations import is_complete, is_current, migrate, refuse_newer
from prong.storage.problems import busy, damaged, explained, is_busy, is_suspicious
from prong.storage.salvage import examine, mend

PATIENCE = 5.0
"""For how many seconds another process is waited for."""
_PAUSE = (0.001, 0.01)

T = TypeVar("T")


def read(path: Path, query: str, values: Sequence[Any] = ()) -> list[Any]:
    """The rows that a query gives; none when there is no file, or none that can be read.

    Raises `Unsupported` when a newer prong has written it, and `Busy` when it is being replaced.
    """
    if identity(path) is None:
        return []
    database = _of(path)
    try:
        with explained(path):
            return _whole(database, lambda: database.read(query, values))
    except (Unsupported, Busy):
        raise
    except ProngError as error:
        debug(__name__, "reading a copy: %s", error)
        database.problem = error.message
    return database.read_copy(query, values)


def write(path: Path, action: Callable[[sqlite3.Connection], T]) -> T:
    """Do this in a transaction, which is kept when it ends well. It may be called again.

    Raises `External` when the file cannot be written, `Busy` when others write all the time, and
    `Unsupported` when a newer prong has written it.
    """
    database = _of(path)
    with explained(path):
        return _whole(database, lambda: database.write(action))


def problem_with(path: Path) -> str | None:
    """Why nothing can be recorded; None when all is well. Makes nothing that is not there.

    All of the file is read for that. A damaged one is repaired.
    """
    if identity(path) is None:
        if path.is_symlink():
            return f"{path} is a link to nothing"
        there = next(folder for folder in path.parents if identity(folder) is not None)
        return None if os.access(there, os.W_OK | os.X_OK) else f"{there} cannot be written"
    database = _of(path)
    try:
        with explained(path):
            _whole(database, database.check)
    except ProngError as error:
        return error.message
    return None


def notices(path: Path) -> list[str]:
    """What a person should know of the file, when this process has used it."""
    database = _databases.get(os.path.abspath(path))  # noqa: PTH100 -- a link stays one
    if database is None:
        return []
    found = [repair.message for repair in repairs.found(path) if not repair.seen]
    return [*found, database.problem] if database.problem else found


def when_repaired(path: Path, rebuild: Callable[[], dict[str, int]]) -> None:
    """Have what a repair could not salvage recorded anew; gives how many of what."""
    _of(path).rebuild = rebuild


def close(path: Path) -> None:
    """Let go of the file. It is opened again when it is needed."""
    database = _databases.get(os.path.abspath(path))  # noqa: PTH100
    if database is not None:
        database.close()


def close_all() -> None:
    for database in list(_databases.values()):
        database.close()


class _Database:
    """A file, and the connection of this process to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem: str | None = None
        """Why the last access could not use the file."""
        self.rebuild: Callable[[], dict[str, int]] | None = None
        self.is_known = False
        """Whether earlier repairs were looked for."""
        self.connection: sqlite3.Connection | None = None
        self._file: Identity | None = None
        self._use = RLock()
        """Held while the connection is used; never while another process is waited for."""
        self._turn = RLock()
        """One thread of a process waits for other processes; the others wait for it."""

    def read(self, query: str, values: Sequence[Any]) -> list[Any]:
        with self._use:
            if identity(self.path) is None:
                self.close()
                return []
            return self._opened().execute(query, values).fetchall()

    def read_copy(self, query: str, values: Sequence[Any]) -> list[Any]:
        """In a folder that cannot be written sqlite cannot make the files that it needs to read."""
        import shutil
        import tempfile  # slow to load

        with self._use, ExitStack() as stack:
            self.close()  # of a file that sqlite has open nothing may be opened
            try:
                refuse_special(self.path)
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="prong-"))
                copy = Path(folder) / self.path.name
                shutil.copyfile(self.path, copy)
                with suppress(FileNotFoundError):
                    shutil.copyfile(f"{self.path}-wal", f"{copy}-wal")
                reading = _Database(copy)
                with explained(copy), closing(reading):
                    found = reading.read(query, values)
            except Unsupported:
                raise
            except (ProngError, OSError) as error:
                debug(__name__, "nothing can be read: %s", error)
                return []
        self.problem = None
        return found

    def write(self, action: Callable[[sqlite3.Connection], T]) -> T:
        deadline = time.monotonic() + PATIENCE
        if not self._turn.acquire(timeout=PATIENCE):
            raise busy(self.path)
        try:
            while True:
                with self._use, self._begun() as connection:
                    if connection is not None:
                        return action(connection)
                if time.monotonic() > deadline:
                    raise busy(self.path)
                time.sleep(random.uniform(*_PAUSE))  # noqa: S311 -- so that not all come at once
        finally:
            self._turn.release()

    def check(self) -> None:
        """Raise when the file is damaged, or cannot be written."""
        with self._use:
            self._opened()
            with shared(self.path, PATIENCE):
                reason = examine(self.path)
        if reason is not None:
            raise damaged(reason, self.path)

    def mended(self) -> None:
        """Repair the file if it is damaged."""
        with self._use:
            self.close()
            with alone(self.path, PATIENCE):
                mend(self.path)

    def close(self) -> None:
        with self._use:
            connection, self.connection, self._file = self.connection, None, None
            if connection is not None:
                self._close(connection)

    @contextmanager
    def _begun(self) -> Generator[sqlite3.Connection | None]:
        """The connection in a transaction; None while another process writes."""
        connection = self._opened()
        if connection.in_transaction:
            raise RuntimeError("a transaction in a transaction")
        with shared(self.path, PATIENCE):
            # Nobody can replace it from here on.
            if identity(self.path) != self._file or not _begin(connection):
                yield None
                return
            try:
                yield connection
                sys.audit("prong.step", "record", str(self.path))
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk has ended it already
                    connection.execute("ROLLBACK")
                raise

    def _opened(self) -> sqlite3.Connection:
        """The connection to the file that is there now; one is made when there is none."""
        while True:
            if self.connection is not None:
                is_same = identity(self.path) == self._file
                if is_same and is_current(self.connection):
                    return self.connection
                self.close()
            private_dir(self.path.parent)
            try:
                with shared(self.path, PATIENCE):
                    is_ready = self._attach()
            except OSError:
                # Where nothing can be written, nobody replaces the file either.
                if not self._attach():
                    raise
                is_ready = True
            if not is_ready:
                with alone(self.path, PATIENCE):
                    self._make()

    def _attach(self) -> bool:
        """Open the file as it is; False when it is to be made or brought up to date first."""
        file = identity(self.path)
        if file is None:
            return False
        refuse_special(self.path)
        connection = _connect(self.path)
        try:
            refuse_newer(connection)
            (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
            is_ready = mode == "wal" and is_current(connection)
        except BaseException:
            connection.close()
            raise
        if not is_ready:
            connection.close()
            return False
        self.connection, self._file = connection, file
        return True

    def _make(self) -> None:
        """Make the file, or bring it up to date. Nobody else opens or writes it meanwhile."""
        private_file(self.path)
        connection = _connect(self.path)
        try:
            if not is_complete(connection):
                raise damaged("tables are missing", self.path)
            connection.execute("PRAGMA journal_mode = WAL")
            migrate(connection)
        finally:
            connection.close()

    def _close(self, connection: sqlite3.Connection) -> None:
        """The last one to close it writes the log back, which must not meet another file."""
        try:
            with shared(self.path, PATIENCE):
                connection.close()
        except OSError:
            connection.close()
        except ProngError:
            _abandoned.append(connection)


def _whole(database: _Database, act: Callable[[], T]) -> T:
    """Do this; once more after a repair when it shows that the file is damaged."""
    _rebuild(database)
    try:
        found = act()
    except (sqlite3.Error, UnicodeDecodeError, Corrupt) as error:
        if not is_suspicious(error):
            raise
        debug(__name__, "%s may be damaged: %s", database.path, error)
        database.mended()
        database.is_known = False
        _rebuild(database)
        found = act()
    database.problem = None
    return found


def _rebuild(database: _Database) -> None:
    """Record anew what repairs have lost: the last one, or one whose process was killed."""
    if database.is_known or database.rebuild is None:
        return
    database.is_known = True
    for repair in repairs.found(database.path):
        if repair.rebuilt is None:
            try:
                repairs.save(database.path, repair.after(database.rebuild()))
            except (ProngError, OSError) as error:
                debug(__name__, "not all could be rebuilt: %s", error)


def _connect(path: Path) -> sqlite3.Connection:
    connection = connect(path, PATIENCE)
    try:
        # What was recorded stays recorded when the power fails.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _begin(connection: sqlite3.Connection) -> bool:
    """Begin to write; False while another process does. The caller waits: others may read then."""
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if is_busy(error):
            return False
        raise
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")
    return True


_databases: dict[str, _Database] = {}
_registry = Lock()
_abandoned: list[sqlite3.Connection] = []
"""Connections that could not be closed safely. They end with the process."""


def _of(path: Path) -> _Database:
    with _registry:
        name = os.path.abspath(path)  # noqa: PTH100 -- a link stays one
        found = _databases.get(name)
        if found is None:
            found = _databases[name] = _Database(path)
        return found


def _forget() -> None:
    """In a forked child: the connections are the parent's, and not even closing is safe."""
    import ctypes

    _registry.release()
    connections = [one.connection for one in _databases.values() if one.connection is not None]
    _databases.clear()
    for connection in connections:
        # Never freed: Python would close it.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


os.register_at_fork(
    before=_registry.acquire, after_in_parent=_registry.release, after_in_child=_forget
)
atexit.register(close_all)
