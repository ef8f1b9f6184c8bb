"""Cache of session file metadata, keyed by path and checked by size, time and inode.

If it cannot be opened, is damaged or has another version, prong works without it or starts a new
one. No message is shown, because only time is lost.
"""

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prong.files.atomic import create_private
from prong.log import debug
from prong.model.sessions import KnownFile, Scan
from prong.paths import private_dir

_VERSION = 3
_SCHEMA = """
CREATE TABLE files (
    agent TEXT NOT NULL,
    path BLOB NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    facts BLOB NOT NULL,
    PRIMARY KEY (agent, path)
) WITHOUT ROWID;
CREATE TABLE states (
    agent TEXT NOT NULL,
    path BLOB NOT NULL,
    state BLOB NOT NULL,
    PRIMARY KEY (agent, path)
);
CREATE TABLE results (
    agent TEXT NOT NULL PRIMARY KEY,
    result BLOB NOT NULL
);
"""


class SqliteScanCache:
    """A scan cache in one sqlite file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = self._open()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def known(self, agent: str) -> Mapping[str, KnownFile]:
        query = "SELECT path, size, mtime_ns, inode, facts FROM files WHERE agent = ?"
        rows = self._rows(query, agent)
        return {os.fsdecode(row[0]): KnownFile(*row[1:]) for row in rows}

    def file(self, agent: str, path: str) -> KnownFile | None:
        query = """
            SELECT size, mtime_ns, inode, facts, state FROM files
            LEFT JOIN states USING (agent, path) WHERE agent = ? AND path = ?
        """
        rows = self._rows(query, agent, _as_key(path))
        return KnownFile(*rows[0]) if rows else None

    def result(self, agent: str) -> bytes | None:
        rows = self._rows("SELECT result FROM results WHERE agent = ?", agent)
        return rows[0][0] if rows else None

    def save(self, agent: str, scan: Scan) -> None:
        if self._connection is None or not (scan.changed or scan.gone or scan.result):
            return
        stale = [(agent, _as_key(path)) for path in (*scan.changed, *scan.gone)]
        try:
            with self._connection:
                for statement in (
                    "DELETE FROM files WHERE agent = ? AND path = ?",
                    "DELETE FROM states WHERE agent = ? AND path = ?",
                ):
                    self._connection.executemany(statement, stale)
                self._connection.executemany(
                    "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)",
                    (
                        (agent, _as_key(path), file.size, file.mtime_ns, file.inode, file.facts)
                        for path, file in scan.changed.items()
                    ),
                )
                self._connection.executemany(
                    "INSERT INTO states VALUES (?, ?, ?)",
                    (
                        (agent, _as_key(path), file.state)
                        for path, file in scan.changed.items()
                        if file.state is not None
                    ),
                )
                if scan.result is not None:
                    self._connection.execute(
                        "INSERT OR REPLACE INTO results VALUES (?, ?)", (agent, scan.result)
                    )
        except sqlite3.Error as error:
            debug(__name__, "scan cache not written: %s", error)
            self._replace_if_damaged(error)

    def _rows(self, query: str, *values: str | bytes) -> list[Any]:
        if self._connection is None:
            return []
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            debug(__name__, "scan cache not read: %s", error)
            self._replace_if_damaged(error)
            return []

    def _open(self) -> sqlite3.Connection | None:
        try:
            return self._connect()
        except (sqlite3.Error, OSError) as error:
            debug(__name__, "no scan cache: %s", error)
            return self._start_again() if _is_damage(error) else None

    def _replace_if_damaged(self, error: sqlite3.Error) -> None:
        if _is_damage(error):
            self.close()
            self._connection = self._start_again()

    def _start_again(self) -> sqlite3.Connection | None:
        try:
            self._path.unlink(missing_ok=True)
            return self._connect()
        except (sqlite3.Error, OSError) as error:
            debug(__name__, "no scan cache: %s", error)
            return None

    def _connect(self) -> sqlite3.Connection:
        private_dir(self._path.parent)
        create_private(self._path)
        connection = sqlite3.connect(self._path, timeout=2)
        try:
            # A lost cache costs one slow scan; waiting for the disk would slow down every scan.
            connection.execute("PRAGMA synchronous = OFF")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version != _VERSION:
                self._create(connection)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _create(self, connection: sqlite3.Connection) -> None:
        with connection:
            # Another process may be creating it right now.
            connection.execute("BEGIN IMMEDIATE")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == _VERSION:
                return
            for table in ("files", "states", "results"):
                connection.execute(f"DROP TABLE IF EXISTS {table}")
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {_VERSION}")


def _is_damage(error: Exception) -> bool:
    """Whether it is damage ("not a database", "malformed", a missing table), not a lock."""
    if isinstance(error, sqlite3.OperationalError):
        return "no such" in str(error)
    return type(error) is sqlite3.DatabaseError


class NoCache:
    """A scan cache that remembers nothing."""

    def close(self) -> None:
        pass

    def known(self, agent: str) -> Mapping[str, KnownFile]:
        return {}

    def file(self, agent: str, path: str) -> KnownFile | None:
        return None

    def result(self, agent: str) -> bytes | None:
        return None

    def save(self, agent: str, scan: Scan) -> None:
        pass


def _as_key(path: str) -> bytes:
    # File names need not be valid text.
    return os.fsencode(path)
