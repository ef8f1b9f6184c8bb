"""Sqlite files that may be lost at any time, because only time is lost with them."""

import re
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from prong.files.atomic import create_private
from prong.log import debug
from prong.paths import private_dir


class CacheFile:
    """A sqlite file that is replaced when damaged or of another version, and may be missing."""

    def __init__(self, path: Path | None, version: int, schema: str) -> None:
        """Open or create it. Without a path, nothing is kept."""
        self._version = version
        self._schema = schema
        self._connection: sqlite3.Connection | None = None
        if path is None:
            return
        self._path = path
        try:
            self._connection = self._connect()
        except (sqlite3.Error, OSError) as error:
            self._failed(error)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        if self._connection is None:
            return []
        try:
            return self._connection.execute(query, values).fetchall()
        except sqlite3.Error as error:
            self._failed(error)
            return []

    def write(self, *statements: tuple[str, Iterable[Sequence[Any]]]) -> None:
        """Run each statement for its rows, all in one transaction."""
        if self._connection is None:
            return
        try:
            with self._connection:
                for statement, rows in statements:
                    self._connection.executemany(statement, rows)
        except sqlite3.Error as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        """Start again with an empty file after damage. A lock will pass."""
        debug(__name__, "%s cannot be used: %s", self._path, error)
        if not _is_damage(error):
            return
        self.close()
        try:
            for path in (self._path, self._path.with_name(f"{self._path.name}-journal")):
                path.unlink(missing_ok=True)
            self._connection = self._connect()
        except (sqlite3.Error, OSError) as again:
            debug(__name__, "%s cannot be made: %s", self._path, again)

    def _connect(self) -> sqlite3.Connection:
        private_dir(self._path.parent)
        create_private(self._path)
        connection = sqlite3.connect(self._path, timeout=2)
        try:
            # A lost cache costs one slow run; waiting for the disk would slow down every run.
            connection.execute("PRAGMA synchronous = OFF")
            if _version(connection) != self._version:
                self._create(connection)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _create(self, connection: sqlite3.Connection) -> None:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if _version(connection) == self._version:
                return  # another process has just created it
            for table in re.findall(r"CREATE TABLE (\w+)", self._schema):
                connection.execute(f"DROP TABLE IF EXISTS {table}")
            for statement in self._schema.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {self._version}")


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return version


def _is_damage(error: Exception) -> bool:
    """Whether it is damage ("not a database", "malformed", a missing table), not a lock."""
    if isinstance(error, sqlite3.OperationalError):
        return "no such" in str(error)
    return type(error) is sqlite3.DatabaseError
