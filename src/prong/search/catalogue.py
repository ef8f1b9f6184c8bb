"""Catalogue of the search index: the indexed files and their turns, in SQLite.

Each time a file is read it gets a new random mark, which the documents of the word index carry.
Documents left by an interrupted writer therefore belong to no file and are not found.
"""

import os
import sqlite3
import zlib
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from prong.files.atomic import create_private
from prong.model.turn_text import Stamp

ORDINAL_BITS = 20
"""A document key is the mark of its file, shifted by these bits, plus the turn's ordinal."""
_MARK_BYTES = 5
MOST_TURNS = (1 << ORDINAL_BITS) - 1
_AT_ONCE = 500
"""Maximum number of parameters in one statement."""
_BETWEEN = "\0"
_FAST = 1
"""zlib level. The words of a turn are compressed while the index is built."""

_SCHEMA = """
CREATE TABLE files (
    mark INTEGER PRIMARY KEY,
    agent TEXT NOT NULL,
    path BLOB NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    session BLOB NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    turns INTEGER NOT NULL,
    UNIQUE (agent, path)
);
CREATE INDEX by_session ON files (agent, session, turns);
CREATE TABLE turns (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    number INTEGER,
    kind TEXT NOT NULL,
    started TEXT,
    fingerprint INTEGER NOT NULL,
    prompt TEXT NOT NULL,
    answer TEXT NOT NULL,
    files TEXT NOT NULL,
    before TEXT
);
CREATE TABLE texts (key INTEGER PRIMARY KEY, compressed BLOB NOT NULL);
CREATE TABLE unfinished (mark INTEGER PRIMARY KEY);
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB);
"""


_TABLES = ("files", "turns", "texts", "unfinished", "facts")


class IndexedFile(NamedTuple):
    """A file as of when it was indexed."""

    mark: int
    agent: str
    path: str
    stamp: Stamp
    session: str
    title: str
    turns: int


class IndexedTurn(NamedTuple):
    """A turn as of when it was indexed. What a query does not read has its default."""

    key: int
    id: str
    number: int | None
    """None for an abandoned turn."""
    kind: str
    started: str | None
    fingerprint: int
    """Hash of its text, identical in the copies that forks contain."""
    prompt: str = ""
    """The beginning of its prompt: this and the next are shown and embedded, its heads."""
    answer: str = ""
    """The beginning of its last answer."""
    files: str = ""
    """Paths of the touched files, one per line."""
    before: str | None = None
    """The id of the active turn before it, in the same file."""

    @property
    def mark(self) -> int:
        return self.key >> ORDINAL_BITS


Heads = tuple[str, str]


def new_mark() -> int:
    return int.from_bytes(os.urandom(_MARK_BYTES))


class Catalogue:
    """A catalogue in one SQLite file. Readers never wait for the writer."""

    def __init__(self, path: Path) -> None:
        """Open or create it. Raises `sqlite3.Error` when it is damaged."""
        create_private(path)
        self._names: dict[int, tuple[str, str]] | None = None
        """Cached session names of all files."""
        self._names_of = (0, 0)
        """Database state that the cached names belong to."""
        self._connection = sqlite3.connect(path, timeout=5, isolation_level=None)
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            # Whatever a crash loses, the next refresh reads again.
            self._connection.execute("PRAGMA synchronous = OFF")
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            if not version:
                self._create()
        except sqlite3.Error:
            self._connection.close()
            raise

    def _create(self) -> None:
        with self.transaction():
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            if not version:
                for statement in _SCHEMA.split(";"):
                    self._connection.execute(statement)
                self._connection.execute("PRAGMA user_version = 1")

    def close(self) -> None:
        self._connection.close()

    # -- writing -----------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Make the changes of a `with` block together, or none of them."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def clear(self) -> None:
        with self.transaction():
            for table in _TABLES:
                self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 -- only those above

    def check(self) -> None:
        """Read the whole database and raise `sqlite3.Error` if it is damaged."""
        for (message,) in self._connection.execute("PRAGMA quick_check(1)"):
            if message != "ok":
                raise sqlite3.DatabaseError(message)

    def add(
        self,
        file: IndexedFile,
        turns: Iterable[IndexedTurn],
        texts: Mapping[int, Iterable[str]] | None = None,
    ) -> None:
        """Insert a file, its turns and, by key, what is indexed of a turn beyond its heads."""
        self._connection.execute(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                file.mark,
                file.agent,
                os.fsencode(file.path),
                *file.stamp,
                _as_bytes(file.session),
                _as_text(file.title),
                file.turns,
            ),
        )
        rows = (
            turn._replace(id=_as_text(turn.id), started=_as_text(turn.started)) for turn in turns
        )
        insert = "INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._connection.executemany(insert, rows)
        compressed = (
            (key, zlib.compress(_BETWEEN.join(some).encode("utf-8", "replace"), _FAST))
            for key, some in (texts or {}).items()
        )
        self._connection.executemany("INSERT INTO texts VALUES (?, ?)", compressed)

    def remove(self, marks: Sequence[int]) -> None:
        for mark in marks:
            first = mark << ORDINAL_BITS
            last = first + MOST_TURNS
            for table in ("turns", "texts"):
                delete = f"DELETE FROM {table} WHERE key BETWEEN ? AND ?"  # noqa: S608 -- as above
                self._connection.execute(delete, (first, last))
            self._connection.execute("DELETE FROM files WHERE mark = ?", (mark,))

    def give_title(self, mark: int, title: str) -> None:
        values = (_as_text(title), mark)
        self._connection.execute("UPDATE files SET title = ? WHERE mark = ?", values)

    # -- marks of unfinished writes --------------------------------------------------------------

    def announce(self, marks: Iterable[int]) -> None:
        """Record the marks whose documents are about to be added or removed."""
        rows = ((mark,) for mark in marks)
        self._connection.executemany("INSERT OR IGNORE INTO unfinished VALUES (?)", rows)

    def unfinished(self) -> list[int]:
        """List the marks that an interrupted writer announced."""
        return [mark for (mark,) in self._connection.execute("SELECT mark FROM unfinished")]

    def finished(self) -> None:
        """Clear the announced marks after a successful write."""
        self._connection.execute("DELETE FROM unfinished")

    # -- facts -------------------------------------------------------------------------------

    def fact(self, name: str) -> bytes | None:
        row = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def note(self, facts: Mapping[str, bytes]) -> None:
        self._connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())

    # -- reading -----------------------------------------------------------------------------

    def files(self, agent: str | None = None) -> Iterator[IndexedFile]:
        """List the files of an agent, or all; without those of an interrupted writer."""
        query = """
            SELECT * FROM files
            WHERE agent = coalesce(?, agent) AND mark NOT IN (SELECT mark FROM unfinished)
        """
        yield from map(_file, self._connection.execute(query, (agent,)))

    def files_of(self, marks: Iterable[int]) -> dict[int, IndexedFile]:
        rows = self._chunks("SELECT * FROM files WHERE mark IN", list(set(marks)))
        return {row[0]: _file(row) for row in rows}

    def names_of(self, marks: Collection[int]) -> Mapping[int, tuple[str, str]]:
        """Map each mark to agent and session id; may include other marks."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        state = (version, self._connection.total_changes)
        select = "SELECT mark, agent, session FROM files"
        if self._names_of != state:
            self._names, self._names_of = None, state
            rows = self._chunks(f"{select} WHERE mark IN", list(marks))
            return {mark: (agent, _as_name(name)) for mark, agent, name in rows}
        if self._names is None:
            # Asked twice in the same state: cache all names for further calls.
            rows = self._connection.execute(select)
            self._names = {mark: (agent, _as_name(name)) for mark, agent, name in rows}
        return self._names

    def marks_of(self, sessions: Collection[tuple[str, str]]) -> list[int]:
        """List the marks of the files of sessions, each given by agent and id."""
        if len(sessions) > _AT_ONCE:
            names_of_sessions = {(agent, _as_bytes(session)) for agent, session in sessions}
            rows = self._connection.execute("SELECT mark, agent, session FROM files")
            return [mark for mark, agent, session in rows if (agent, session) in names_of_sessions]
        query = "SELECT mark FROM files WHERE agent = ? AND session = ?"
        names = ((agent, _as_bytes(session)) for agent, session in sessions)
        rows = (self._connection.execute(query, name).fetchall() for name in names)
        return [mark for matches in rows for (mark,) in matches]

    def turns(self, keys: Iterable[int]) -> dict[int, IndexedTurn]:
        """Get turns by key, skipping unknown keys."""
        select = "SELECT key, id, number, kind, started, fingerprint FROM turns WHERE key IN"
        return {row[0]: IndexedTurn(*row) for row in self._chunks(select, list(keys))}

    def heads(self, keys: Iterable[int]) -> dict[int, Heads]:
        select = "SELECT key, prompt, answer FROM turns WHERE key IN"
        rows = self._chunks(select, list(keys))
        return {key: (prompt, answer) for key, prompt, answer in rows}

    def shown(self, keys: Iterable[int]) -> dict[int, tuple[IndexedTurn, str]]:
        """Get turns, and the paths of their session files, by key, skipping unknown keys."""
        tables = f"turns JOIN files ON mark = key >> {ORDINAL_BITS}"
        select = f"SELECT turns.*, path FROM {tables} WHERE key IN"  # noqa: S608 -- only the names above
        rows = self._chunks(select, list(keys))
        return {key: (IndexedTurn(key, *turn), os.fsdecode(path)) for key, *turn, path in rows}

    def texts(self, keys: Iterable[int]) -> dict[int, list[str]]:
        """Get everything that is indexed of turns by key, of those that have more than heads."""
        rows = self._chunks("SELECT key, compressed FROM texts WHERE key IN", list(keys))
        return {key: zlib.decompress(text).decode().split(_BETWEEN) for key, text in rows}

    def files_touched(self, keys: Iterable[int]) -> dict[int, list[str]]:
        rows = self._chunks("SELECT key, files FROM turns WHERE key IN", list(keys))
        return {key: files.split("\n") for key, files in rows}

    def all_heads(self) -> Iterator[tuple[int, Heads]]:
        """Iterate over the heads of all turns, unordered."""
        rows = self._connection.execute("SELECT key, prompt, answer FROM turns")
        yield from ((key, (prompt, answer)) for key, prompt, answer in rows)

    def newest_heads(self) -> Iterator[tuple[int, Heads]]:
        """Iterate over the heads of all turns, newest files first."""
        # By file, so that memory use does not grow with the index.
        for (mark,) in self._connection.execute(
            "SELECT mark FROM files ORDER BY mtime_ns DESC"
        ).fetchall():
            first = mark << ORDINAL_BITS
            rows = self._connection.execute(
                "SELECT key, prompt, answer FROM turns WHERE key BETWEEN ? AND ?",
                (first, first + MOST_TURNS),
            ).fetchall()
            yield from ((key, (prompt, answer)) for key, prompt, answer in rows)

    def counts(self) -> tuple[int, int]:
        query = """
            SELECT count(*), coalesce(sum(turns), 0)
            FROM (SELECT sum(turns) AS turns FROM files WHERE turns > 0 GROUP BY agent, session)
        """
        sessions, turns = self._connection.execute(query).fetchone()
        return sessions, turns

    def _chunks(self, select: str, values: Sequence[int]) -> Iterator[Any]:
        for at in range(0, len(values), _AT_ONCE):
            chunk = values[at : at + _AT_ONCE]
            placeholders = ",".join("?" * len(chunk))
            yield from self._connection.execute(f"{select} ({placeholders})", chunk)


def _file(row: Any) -> IndexedFile:
    mark, agent, path, size, mtime_ns, inode, session, title, turns = row
    stamp = Stamp(size, mtime_ns, inode)
    return IndexedFile(mark, agent, os.fsdecode(path), stamp, _as_name(session), title, turns)


def _as_bytes(name: str) -> bytes:
    """Encode a name that may contain surrogates, such as a file name."""
    return name.encode("utf-8", "surrogatepass")


def _as_name(name: bytes) -> str:
    return name.decode("utf-8", "surrogatepass")


def _as_text(text: str | None) -> str:
    """Replace None and lone surrogates, which SQLite does not accept as text."""
    text = text or ""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
