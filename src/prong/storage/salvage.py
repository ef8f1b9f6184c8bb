"""Repairing a damaged state.db: what can be read of each table goes into a new file.

All work is done on a copy. The damaged file stays as it was, under another name, with its log. The
caller holds `state.lock` alone, and has no connection open.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from prong.errors import Unsupported
from prong.files.journal import sync_folder
from prong.log import debug
from prong.paths import private_file
from prong.storage import repairs
from prong.storage.file import beside, connect
from prong.storage.migrations import is_complete, migrate, refuse_newer, tables
from prong.storage.problems import is_suspicious

_HEAD = 100
"""Bytes of the head of a database, in the first page."""
_MAGIC = b"SQLite format 3\0"
_PAGE_SIZE = 4096
_PAGES_AT, _SCHEMA_AT = 28, 40
"""Where the head has the number of pages and the cookie of the schema."""
_PROBES, _STEP = 2000, 8
"""How often it is tried to read on behind damage, and by how many rows further each time.

A page has more rows than that, so that none is skipped.
"""
_STAGING = ".state-salvage-"


def examine(path: Path) -> str | None:
    """What is damaged, by reading all of the file; None when it is sound.

    Raises `Unsupported` for a file of a newer prong, and `sqlite3.Error` when something else is in
    the way: a lock, a disk that fails, too little memory.
    """
    try:
        with closing(connect(path)) as connection:
            refuse_newer(connection)
            (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if found != "ok":
                return " ".join(str(found).split())
            return None if is_complete(connection) else "tables are missing"
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if is_suspicious(error):
            return str(error)
        raise


def mend(path: Path) -> None:
    """Replace a damaged file by what can be salvaged from it; a sound one stays as it is."""
    try:
        reason = examine(path)
    except Unsupported:
        return
    if reason is None:
        return
    for stale in path.parent.glob(f"{_STAGING}*"):
        shutil.rmtree(stale, ignore_errors=True)  # of a process that was killed
    with tempfile.TemporaryDirectory(prefix=_STAGING, dir=path.parent) as folder:
        copy, new = Path(folder) / "copy.db", Path(folder) / "new.db"
        shutil.copyfile(path, copy)
        with suppress(FileNotFoundError):
            shutil.copyfile(beside(path, "-wal"), beside(copy, "-wal"))
        salvaged = _salvaged(copy, new)
        kept = _next_name(path)
        # The note first: with the new file there is always one that tells of it.
        repairs.save(path, repairs.Repair(kept.name, reason, salvaged))
        _replace(path, new, kept)


def _replace(path: Path, new: Path, kept: Path) -> None:
    """Its log goes first: the new file must never meet it."""
    try:
        os.link(path, kept)
    except OSError:
        path.rename(kept)  # not every file system has links
    with suppress(FileNotFoundError):
        beside(path, "-wal").rename(beside(kept, "-wal"))
    beside(path, "-shm").unlink(missing_ok=True)
    new.rename(path)
    sync_folder(path.parent)


def _salvaged(copy: Path, new: Path) -> dict[str, int]:
    """Copy the rows that can be read into a new database; how many of each table."""
    private_file(new)
    with closing(connect(new)) as target:
        target.execute("PRAGMA synchronous = FULL")
        target.execute("PRAGMA journal_mode = WAL")
        migrate(target)
        counts = _copied(copy, target)
        if not any(counts.values()):
            # The head may be all that is lost, or the list of the tables in the first page.
            for page in _first_pages(copy):
                patched = copy.with_name("patched.db")
                patched.write_bytes(page)
                counts = _copied(patched, target)
                patched.unlink()
                if any(counts.values()):
                    break
    return counts


def _first_pages(damaged: Path) -> Iterator[bytes]:
    """The file with the head, or all of the first page, of a sound one.

    Tables are made in the same order everywhere, so they begin at the same pages.
    """
    content = damaged.read_bytes()
    model_path = damaged.with_name("model.db")
    private_file(model_path)
    with closing(connect(model_path)) as model:
        migrate(model)
    model_bytes = model_path.read_bytes()
    content += bytes(-len(content) % _PAGE_SIZE)
    head = bytearray(model_bytes[:_HEAD])
    head[_PAGES_AT : _PAGES_AT + 4] = (len(content) // _PAGE_SIZE).to_bytes(4)
    yield bytes(head) + content[_HEAD:]
    yield bytes(head) + model_bytes[_HEAD:_PAGE_SIZE] + content[_PAGE_SIZE:]


def _copied(source_path: Path, target: sqlite3.Connection) -> dict[str, int]:
    _fill_up(source_path)
    counts: dict[str, int] = {}
    with closing(connect(source_path)) as source:
        for table, columns in tables(target).items():
            target.execute("BEGIN IMMEDIATE")
            counts[table] = 0
            for row in _rows(source, table, columns):
                counts[table] += _kept(target, table, row)
            target.execute("COMMIT")
    return counts


def _fill_up(path: Path) -> None:
    """Sqlite opens no file that is shorter than its head says. Zeros are no rows."""
    with path.open("r+b") as file:
        head = file.read(_HEAD)
        size = file.seek(0, os.SEEK_END)
        pages = int.from_bytes(head[_PAGES_AT : _PAGES_AT + 4]) if head[:16] == _MAGIC else 0
        # A torn number is no reason to fill the disk.
        wanted = max(min(pages * _PAGE_SIZE, size * 2 + (1 << 20)), size)
        file.truncate(wanted + -wanted % _PAGE_SIZE)


def _kept(target: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> int:
    statement = (
        f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) "  # noqa: S608 -- names of ours
        f"VALUES ({', '.join('?' * len(row))})"
    )
    try:
        return target.execute(statement, list(row.values())).rowcount
    except sqlite3.IntegrityError as error:
        debug(__name__, "a row of %s is not whole: %s", table, error)
        return 0


def _rows(
    source: sqlite3.Connection, table: str, columns: Iterable[str]
) -> Iterator[dict[str, Any]]:
    """The readable rows of a table, from its beginning, from its end, and between the two."""
    there = _columns_there(source, table, columns)
    if not there:
        return
    names = ("rowid", *there)  # rows keep their order
    select = f"SELECT {', '.join(names)} FROM {table} NOT INDEXED WHERE rowid"  # noqa: S608
    up, down = f"{select} >= ? AND rowid < ? ORDER BY rowid", f"{select} > ? AND rowid < ? "
    down += "ORDER BY rowid DESC"
    end = 1 << 62
    last = 0
    for row in _until_damage(source, up, (last, end)):
        last = row[0]
        yield dict(zip(names, row, strict=True))
    for row in _until_damage(source, down, (last, end)):
        end = row[0]
        yield dict(zip(names, row, strict=True))
    probe = last + 1
    for _ in range(_PROBES):
        if probe >= end:
            return
        # What is behind the damage, and then what was skipped by coming there in steps.
        for direction, start, stop in ((up, probe, end), (down, last, probe)):
            for row in _until_damage(source, direction, (start, stop)):
                last = max(last, row[0])
                yield dict(zip(names, row, strict=True))
        probe = max(probe, last) + _STEP


def _columns_there(
    source: sqlite3.Connection, table: str, columns: Iterable[str]
) -> tuple[str, ...]:
    """The columns that an older file has as well; none when the table is lost."""
    with suppress(sqlite3.Error, UnicodeDecodeError):
        known = {row[1] for row in source.execute(f"PRAGMA table_info({table})")}
        return tuple(one for one in columns if one in known)
    return ()


def _until_damage(
    source: sqlite3.Connection, query: str, values: tuple[int, int]
) -> Iterator[tuple[Any, ...]]:
    try:
        yield from source.execute(query, values)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if not is_suspicious(error):
            raise


def _next_name(path: Path) -> Path:
    number = 1
    while beside(path, f".damaged-{number}").exists():
        number += 1
    return beside(path, f".damaged-{number}")
