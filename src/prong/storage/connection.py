"""Connections to state.db: one per process, shared by its threads.

Only sqlite opens the file. POSIX locks belong to the process: closing any other descriptor of the
file would drop sqlite's locks, and another process could write at the same time. Version and tables
are checked when the file is opened, so an access costs no more than its statements. Reads take no
lock that another process could hold.

At its next access, a process notices that the file was replaced or deleted, and continues with the
current one. A forked child has its own connections.
"""

import atexit
import os
import random
import sqlite3
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock
from typing import Any, TypeVar

from prong.errors import Busy, Corrupt, ProngError, Unsupported
from prong.files.atomic import create_private
from prong.log import debug
from prong.model.record import replace
from prong.paths import private_dir
from prong.storage import repairs
from prong.storage.file import (
    Identity,
    alone,
    busy,
    connect,
    damaged,
    explained,
    identity,
    is_busy,
    is_suspicious,
    refuse_special,
    shared,
)
from prong.storage.migrations import is_complete, is_current, migrate, refuse_newer
from prong.storage.salvage import examine, mend

PATIENCE = 5.0
"""Seconds to wait for another process."""
_PAUSE = (0.001, 0.01)

T = TypeVar("T")


def read(path: Path, query: str, values: Sequence[Any] = ()) -> list[Any]:
    """Run a query and return its rows; none if the file is missing or unreadable.

    Raises `Unsupported` when a newer prong has written the file, and `Busy` while it is replaced.
    """
    if identity(path) is None:
        return []
    database = _of(path)
    try:
        with explained(path):
            return database.repaired(lambda: database.read(query, values))
    except (Unsupported, Busy):
        raise
    except ProngError as error:
        debug(__name__, "reading a copy: %s", error)
        database.problem = error.message
    return database.read_copy(query, values)


def write(path: Path, action: Callable[[sqlite3.Connection], T]) -> T:
    """Run an action in a transaction, committed unless it raises. It may run more than once.

    Raises `External` when the file cannot be written, `Busy` when other processes keep writing, and
    `Unsupported` when a newer prong has written it.
    """
    database = _of(path)
    with explained(path):
        return database.repaired(lambda: database.write(action))


def problem_with(path: Path) -> str | None:
    """Return why nothing can be recorded, or None. Reads the whole file and repairs damage."""
    if identity(path) is None:
        if path.is_symlink():
            return f"{path} is a link to nothing"
        parent = next(folder for folder in path.parents if identity(folder) is not None)
        return None if os.access(parent, os.W_OK | os.X_OK) else f"{parent} cannot be written"
    database = _of(path)
    try:
        with explained(path):
            database.repaired(database.check)
    except ProngError as error:
        return error.message
    return None


def notices(path: Path) -> list[str]:
    """Return repairs and problems to report to the user, if this process has used the file."""
    database = _databases.get(_name(path))
    if database is None:
        return []
    messages = [repair.message for repair in repairs.found(path) if not repair.seen]
    return [*messages, database.problem] if database.problem else messages


def when_repaired(path: Path, rebuild: Callable[[], dict[str, int]]) -> None:
    """Register a callback that recreates records lost in a repair and returns their counts."""
    _of(path).rebuild = rebuild


def close(path: Path) -> None:
    """Close the file. The next access opens it again."""
    database = _databases.get(_name(path))
    if database is not None:
        database.close()


def close_all() -> None:
    for database in list(_databases.values()):
        database.close()


class _Database:
    """A database file and this process's connection to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem: str | None = None
        """Why the last access could not use the file."""
        self.rebuild: Callable[[], dict[str, int]] | None = None
        self._are_repairs_known = False
        self.connection: sqlite3.Connection | None = None
        self._file: Identity | None = None
        self._use = RLock()
        """Held while the connection is in use, never while waiting for another process."""
        self._turn = RLock()
        """Held by the one thread that waits for other processes; other threads wait for it."""

    def read(self, query: str, values: Sequence[Any]) -> list[Any]:
        with self._use:
            if identity(self.path) is None:
                self.close()
                return []
            return self._opened().execute(query, values).fetchall()

    def read_copy(self, query: str, values: Sequence[Any]) -> list[Any]:
        """Read a temporary copy: in a read-only folder, sqlite cannot create the files it needs."""
        import shutil
        import tempfile  # slow to import

        with self._use:
            self.close()  # a file that sqlite has open must not be opened otherwise
            try:
                refuse_special(self.path)
                with tempfile.TemporaryDirectory(prefix="prong-") as folder:
                    copy = Path(folder) / self.path.name
                    shutil.copyfile(self.path, copy)
                    with suppress(FileNotFoundError):
                        shutil.copyfile(f"{self.path}-wal", f"{copy}-wal")
                    with explained(copy), closing(_Database(copy)) as database:
                        rows = database.read(query, values)
            except Unsupported:
                raise
            except (ProngError, OSError) as error:
                debug(__name__, "nothing can be read: %s", error)
                return []
        self.problem = None
        return rows

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
        """Raise if the file is damaged or not writable."""
        with self._use:
            self._opened()
            with shared(self.path, PATIENCE):
                reason = examine(self.path)
        if reason is not None:
            raise damaged(reason, self.path)

    def repaired(self, act: Callable[[], T]) -> T:
        """Run an action, and once more after a repair if it reveals damage."""
        self._rebuild()
        try:
            result = act()
        except (sqlite3.Error, UnicodeDecodeError, Corrupt) as error:
            if not is_suspicious(error):
                raise
            debug(__name__, "%s may be damaged: %s", self.path, error)
            with self._use:
                self.close()
                with alone(self.path, PATIENCE):
                    mend(self.path)
            self._are_repairs_known = False
            self._rebuild()
            result = act()
        self.problem = None
        return result

    def _rebuild(self) -> None:
        """Recreate records lost in repairs, including one whose process was killed."""
        if self._are_repairs_known or self.rebuild is None:
            return
        self._are_repairs_known = True
        for repair in repairs.found(self.path):
            if repair.rebuilt is None:
                try:
                    repairs.save(self.path, replace(repair, rebuilt=self.rebuild()))
                except (ProngError, OSError) as error:
                    debug(__name__, "not all could be rebuilt: %s", error)

    def close(self) -> None:
        with self._use:
            connection, self.connection, self._file = self.connection, None, None
            if connection is None:
                return
            # Under the lock: the last one writes the log back, which must not hit a new file.
            try:
                with shared(self.path, PATIENCE):
                    connection.close()
            except OSError:
                connection.close()
            except ProngError:
                _abandoned.append(connection)

    @contextmanager
    def _begun(self) -> Generator[sqlite3.Connection | None]:
        """Yield the connection in a transaction, or None while another process writes."""
        connection = self._opened()
        if connection.in_transaction:
            raise RuntimeError("a transaction in a transaction")
        with shared(self.path, PATIENCE):
            # The shared lock prevents replacement from here on.
            if identity(self.path) != self._file or not _begin(connection):
                yield None
                return
            try:
                yield connection
                sys.audit("prong.step", "record", str(self.path))
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk has already ended it
                    connection.execute("ROLLBACK")
                raise

    def _opened(self) -> sqlite3.Connection:
        """Return a connection to the current file, creating the file if necessary."""
        while True:
            if self.connection is not None:
                if identity(self.path) == self._file and is_current(self.connection):
                    return self.connection
                self.close()
            private_dir(self.path.parent)
            try:
                with shared(self.path, PATIENCE):
                    is_ready = self._attach()
            except OSError:
                # In a read-only folder nobody replaces the file either.
                if not self._attach():
                    raise
                is_ready = True
            if not is_ready:
                with alone(self.path, PATIENCE):
                    self._make()

    def _attach(self) -> bool:
        """Open the existing file; return False if it must be created or migrated first."""
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
        """Create or migrate the file. The caller holds the exclusive lock."""
        create_private(self.path)
        connection = _connect(self.path)
        try:
            if not is_complete(connection):
                raise damaged("tables are missing", self.path)
            connection.execute("PRAGMA journal_mode = WAL")
            migrate(connection)
        finally:
            connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    connection = connect(path, PATIENCE)
    try:
        # Committed records must survive a power failure.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _begin(connection: sqlite3.Connection) -> bool:
    """Start writing; False if another process does. The caller waits, so that others can read."""
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
        return _databases.setdefault(_name(path), _Database(path))


def _name(path: Path) -> str:
    return os.path.abspath(path)  # noqa: PTH100 -- a link stays one


def _forget() -> None:
    """Drop connections in a forked child: they belong to the parent, and even closing is unsafe."""
    import ctypes

    _registry.release()
    connections = [db.connection for db in _databases.values() if db.connection is not None]
    _databases.clear()
    for connection in connections:
        # Leak it on purpose: Python would close it.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


os.register_at_fork(
    before=_registry.acquire, after_in_parent=_registry.release, after_in_child=_forget
)
atexit.register(close_all)
