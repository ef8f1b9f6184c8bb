"""Cache of session file metadata, keyed by path and checked by size, time and inode."""

import os
from collections.abc import Mapping
from pathlib import Path

from prong.model.sessions import KnownFile, Scan
from prong.storage.cache_file import CacheFile

_VERSION = 4
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
    """A scan cache in one sqlite file, which may be lost."""

    def __init__(self, path: Path) -> None:
        self._file = CacheFile(path, _VERSION, _SCHEMA)

    def close(self) -> None:
        self._file.close()

    def known(self, agent: str) -> Mapping[str, KnownFile]:
        query = "SELECT path, size, mtime_ns, inode, facts FROM files WHERE agent = ?"
        rows = self._file.rows(query, (agent,))
        return {os.fsdecode(row[0]): KnownFile(*row[1:]) for row in rows}

    def file(self, agent: str, path: str) -> KnownFile | None:
        query = """
            SELECT size, mtime_ns, inode, facts, state FROM files
            LEFT JOIN states USING (agent, path) WHERE agent = ? AND path = ?
        """
        rows = self._file.rows(query, (agent, os.fsencode(path)))
        return KnownFile(*rows[0]) if rows else None

    def result(self, agent: str) -> bytes | None:
        rows = self._file.rows("SELECT result FROM results WHERE agent = ?", (agent,))
        return rows[0][0] if rows else None

    def save(self, agent: str, scan: Scan) -> None:
        if not (scan.changed or scan.gone or scan.result):
            return
        stale = [(agent, os.fsencode(path)) for path in (*scan.changed, *scan.gone)]
        changed = [(agent, os.fsencode(path), file) for path, file in scan.changed.items()]
        files = ((*key, *file[:4]) for *key, file in changed)
        states = ((*key, file.state) for *key, file in changed if file.state is not None)
        results = [(agent, scan.result)] if scan.result is not None else []
        self._file.write(
            ("DELETE FROM files WHERE agent = ? AND path = ?", stale),
            ("DELETE FROM states WHERE agent = ? AND path = ?", stale),
            ("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)", files),
            ("INSERT INTO states VALUES (?, ?, ?)", states),
            ("INSERT OR REPLACE INTO results VALUES (?, ?)", results),
        )


class NoCache(SqliteScanCache):
    def __init__(self) -> None:
        self._file = CacheFile(None, _VERSION, _SCHEMA)
