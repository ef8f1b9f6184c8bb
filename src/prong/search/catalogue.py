"""The catalogue: which files are in the index, and their turns. Words are in the index beside it.

A file has a mark, drawn anew whenever it is read; the documents of the index carry it. So what an
interrupted writer left in the index belongs to no file, and is not found.
"""

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from prong.model.turn_text import Stamp
from prong.paths import private_file

ORDINAL_BITS = 20
"""A document's key is the mark of its file and the number of the turn in it."""
_MARK_BYTES = 5
MOST_TURNS = (1 << ORDINAL_BITS) - 1
_AT_ONCE = 500
"""How many values one statement takes."""

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
    files TEXT NOT NULL
);
CREATE TABLE unfinished (mark INTEGER PRIMARY KEY);
CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB);
"""


_TABLES = ("files", "turns", "unfinished", "facts")


class IndexedFile(NamedTuple):
    """A file as it was when its words were indexed."""

    mark: int
    agent: str
    path: str
    stamp: Stamp
    session: str
    title: str
    turns: int


class IndexedTurn(NamedTuple):
    """A turn as it was when its words were indexed."""

    key: int
    id: str
    number: int | None
    """None on an abandoned branch."""
    kind: str
    started: str | None
    fingerprint: int
    """Of its words: a copy in a fork has the same."""

    @property
    def mark(self) -> int:
        """Of its file."""
        return self.key >> ORDINAL_BITS


class Heads(NamedTuple):
    """What a turn began with, to be shown and to be read by the sentence model."""

    prompt: str
    answer: str
    """Of the last answer."""


class ShownTurn(NamedTuple):
    """What a list shows of a turn."""

    turn: IndexedTurn
    heads: Heads
    path: str
    """Of its file."""


class TurnRow(NamedTuple):
    """All that the catalogue keeps of a turn."""

    turn: IndexedTurn
    heads: Heads
    files: str
    """Those that it touched, one on a line."""


def new_mark() -> int:
    return int.from_bytes(os.urandom(_MARK_BYTES))


class Catalogue:
    """One sqlite file. Readers never wait for the writer."""

    def __init__(self, path: Path) -> None:
        """Open it, or make it. Raises `sqlite3.Error` when it is damaged."""
        private_file(path)
        self._names: dict[int, tuple[str, str]] | None = None
        """The session of every file, when that was asked for more than once."""
        self._names_of = (0, 0)
        """The state of the catalogue that they are of."""
        self._connection = sqlite3.connect(path, timeout=5, isolation_level=None)
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            # What the disk loses, the next refresh reads again.
            self._connection.execute("PRAGMA synchronous = OFF")
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            if not version:
                self._create()
        except sqlite3.Error:
            self._connection.close()
            raise

    def _create(self) -> None:
        self.begin()
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if not version:
            for statement in _SCHEMA.split(";"):
                self._connection.execute(statement)
            self._connection.execute("PRAGMA user_version = 1")
        self.commit()

    def close(self) -> None:
        self._connection.close()

    # -- writing -----------------------------------------------------------------------------

    def begin(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")

    def rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def clear(self) -> None:
        """Forget everything."""
        self.begin()
        for table in _TABLES:
            self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 -- only the names above
        self.commit()

    def check(self) -> None:
        """Raise `sqlite3.Error` when it is damaged. This reads all of it."""
        for (told,) in self._connection.execute("PRAGMA quick_check(1)"):
            if told != "ok":
                raise sqlite3.DatabaseError(told)

    def add(self, file: IndexedFile, turns: Iterable[TurnRow]) -> None:
        """Note a file and its turns, in the place of what was known of it."""
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
            (
                turn.key,
                _as_text(turn.id),
                turn.number,
                turn.kind,
                _as_text(turn.started),
                turn.fingerprint,
                heads.prompt,
                heads.answer,
                touched,
            )
            for turn, heads, touched in turns
        )
        self._connection.executemany("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def remove(self, marks: Sequence[int]) -> None:
        for mark in marks:
            first = mark << ORDINAL_BITS
            last = first + MOST_TURNS
            self._connection.execute("DELETE FROM turns WHERE key BETWEEN ? AND ?", (first, last))
            self._connection.execute("DELETE FROM files WHERE mark = ?", (mark,))

    def give_title(self, mark: int, title: str) -> None:
        values = (_as_text(title), mark)
        self._connection.execute("UPDATE files SET title = ? WHERE mark = ?", values)

    # -- what the index may have that no file has -----------------------------------------------

    def announce(self, marks: Iterable[int]) -> None:
        """Say before the index is written which documents it will get, or lose."""
        rows = ((mark,) for mark in marks)
        self._connection.executemany("INSERT OR IGNORE INTO unfinished VALUES (?)", rows)

    def unfinished(self) -> list[int]:
        """The marks that were announced by a writer that did not come to its end."""
        return [mark for (mark,) in self._connection.execute("SELECT mark FROM unfinished")]

    def finished(self) -> None:
        """The index has what was announced."""
        self._connection.execute("DELETE FROM unfinished")

    # -- facts -------------------------------------------------------------------------------

    def fact(self, name: str) -> bytes | None:
        row = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def note(self, facts: Mapping[str, bytes]) -> None:
        """Remember facts by their names."""
        self._connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", facts.items())

    # -- reading -----------------------------------------------------------------------------

    def files(self, agent: str | None = None) -> Iterator[IndexedFile]:
        """Every file, or every file of an agent. What a killed writer was at is not among them."""
        query = """
            SELECT * FROM files
            WHERE agent = coalesce(?, agent) AND mark NOT IN (SELECT mark FROM unfinished)
        """
        for row in self._connection.execute(query, (agent,)):
            yield _file(row)

    def files_of(self, marks: Iterable[int]) -> dict[int, IndexedFile]:
        """Files by their marks."""
        rows = self._chunks("SELECT * FROM files WHERE mark IN", list(set(marks)))
        return {row[0]: _file(row) for row in rows}

    def names_of(self, marks: Collection[int]) -> Mapping[int, tuple[str, str]]:
        """The session that each of these files is of, agent and id; also those of others."""
        (others,) = self._connection.execute("PRAGMA data_version").fetchone()
        state = (others, self._connection.total_changes)
        select = "SELECT mark, agent, session FROM files"
        if self._names_of != state:
            self._names, self._names_of = None, state
            rows = self._chunks(f"{select} WHERE mark IN", list(marks))
            return {mark: (agent, _as_name(name)) for mark, agent, name in rows}
        if self._names is None:
            # Who asks again will ask more often.
            rows = self._connection.execute(select)
            self._names = {mark: (agent, _as_name(name)) for mark, agent, name in rows}
        return self._names

    def marks_of(self, sessions: Collection[tuple[str, str]]) -> list[int]:
        """The files of sessions, each named by agent and id."""
        if len(sessions) > _AT_ONCE:
            wanted = {(agent, _as_bytes(session)) for agent, session in sessions}
            rows = self._connection.execute("SELECT mark, agent, session FROM files")
            return [mark for mark, agent, session in rows if (agent, session) in wanted]
        query = "SELECT mark FROM files WHERE agent = ? AND session = ?"
        names = ((agent, _as_bytes(session)) for agent, session in sessions)
        rows = (self._connection.execute(query, name).fetchall() for name in names)
        return [mark for found in rows for (mark,) in found]

    def turns(self, keys: Iterable[int]) -> dict[int, IndexedTurn]:
        """Turns by their keys; those that are not known are left out."""
        select = "SELECT key, id, number, kind, started, fingerprint FROM turns WHERE key IN"
        return {row[0]: IndexedTurn._make(row) for row in self._chunks(select, list(keys))}

    def heads(self, keys: Iterable[int]) -> dict[int, Heads]:
        """The heads of turns by their keys."""
        select = "SELECT key, prompt, answer FROM turns WHERE key IN"
        return {row[0]: Heads(*row[1:]) for row in self._chunks(select, list(keys))}

    def shown(self, keys: Iterable[int]) -> dict[int, ShownTurn]:
        """All that a list shows of turns, by their keys; without those that are not known."""
        columns = "key, id, number, kind, started, fingerprint, prompt, answer, path"
        tables = f"turns JOIN files ON mark = key >> {ORDINAL_BITS}"
        select = f"SELECT {columns} FROM {tables} WHERE key IN"  # noqa: S608 -- only the names above
        return {
            row[0]: ShownTurn(IndexedTurn._make(row[:6]), Heads(*row[6:8]), os.fsdecode(row[8]))
            for row in self._chunks(select, list(keys))
        }

    def files_touched(self, keys: Iterable[int]) -> dict[int, list[str]]:
        """The files that turns touched."""
        rows = self._chunks("SELECT key, files FROM turns WHERE key IN", list(keys))
        return {row[0]: row[1].split("\n") for row in rows}

    def all_heads(self) -> Iterator[tuple[int, Heads]]:
        """The heads of every turn by its key, in no order."""
        rows = self._connection.execute("SELECT key, prompt, answer FROM turns")
        yield from ((key, Heads(prompt, answer)) for key, prompt, answer in rows)

    def newest_heads(self) -> Iterator[tuple[int, Heads]]:
        """The same, the newest files first."""
        # By file, so that memory does not grow with the index.
        for (mark,) in self._connection.execute(
            "SELECT mark FROM files ORDER BY mtime_ns DESC"
        ).fetchall():
            first = mark << ORDINAL_BITS
            rows = self._connection.execute(
                "SELECT key, prompt, answer FROM turns WHERE key BETWEEN ? AND ?",
                (first, first + MOST_TURNS),
            ).fetchall()
            yield from ((key, Heads(*heads)) for key, *heads in rows)

    def counts(self) -> tuple[int, int]:
        """How many sessions and how many turns there are."""
        query = """
            SELECT count(*), coalesce(sum(turns), 0)
            FROM (SELECT sum(turns) AS turns FROM files WHERE turns > 0 GROUP BY agent, session)
        """
        sessions, turns = self._connection.execute(query).fetchone()
        return sessions, turns

    def _chunks(self, select: str, values: Sequence[int]) -> Iterator[Any]:
        for at in range(0, len(values), _AT_ONCE):
            some = values[at : at + _AT_ONCE]
            marks = ",".join("?" * len(some))
            yield from self._connection.execute(f"{select} ({marks})", some)


def _file(row: Any) -> IndexedFile:
    mark, agent, path, size, mtime_ns, inode, session, title, turns = row
    stamp = Stamp(size, mtime_ns, inode)
    return IndexedFile(mark, agent, os.fsdecode(path), stamp, _as_name(session), title, turns)


def _as_bytes(name: str) -> bytes:
    """A name that need not be text: that of a file, for example."""
    return name.encode("utf-8", "surrogatepass")


def _as_name(name: bytes) -> str:
    return name.decode("utf-8", "surrogatepass")


def _as_text(text: str | None) -> str:
    """Half a character is no text for a database."""
    text = text or ""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
