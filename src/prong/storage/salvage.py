"""Repair of a damaged state.db: readable rows of each table are copied to a new file.

All work is done on a copy. The damaged file and its log stay unchanged under another name. The
caller holds `state.lock` exclusively, and has no open connection.
"""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

from prong.errors import Unsupported
from prong.files.atomic import create_private, link_new, sync_folder
from prong.log import debug
from prong.storage import repairs
from prong.storage.file import beside, connect, is_suspicious
from prong.storage.migrations import is_complete, migrate, refuse_newer, tables

_HEAD = 100
"""Size in bytes of the database header, in the first page."""
_MAGIC = b"SQLite format 3\0"
_PAGE_SIZE = 4096
_PAGES_AT, _SCHEMA_AT = 28, 40
"""Offsets of the page count and the schema cookie in the header."""
_PROBES, _STEP = 2000, 8
"""How often to resume reading after damage, and how many rows to advance each time.

A page holds more rows than one step, so no page is skipped.
"""
_STAGING = ".state-salvage-"


def examine(path: Path) -> str | None:
    """Read the whole file and return what is damaged; None if it is intact.

    Raises `Unsupported` for a file of a newer prong, and `sqlite3.Error` for other obstacles: a
    lock, a failing disk, lack of memory.
    """
    try:
        with closing(connect(path)) as connection:
            refuse_newer(connection)
            (result,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if result != "ok":
                return " ".join(str(result).split())
            return None if is_complete(connection) else "tables are missing"
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if is_suspicious(error):
            return str(error)
        raise


def mend(path: Path) -> None:
    """Replace a damaged file by what can be salvaged from it; an intact file stays unchanged."""
    try:
        reason = examine(path)
    except Unsupported:
        if path.stat().st_size >= _HEAD:
            return
        reason = "file is not a database"  # cut off within the version that seems newer
    if reason is None:
        return
    for stale in path.parent.glob(f"{_STAGING}*"):
        shutil.rmtree(stale, ignore_errors=True)  # left by a killed process
    with tempfile.TemporaryDirectory(prefix=_STAGING, dir=path.parent) as folder:
        copy, new = Path(folder) / "copy.db", Path(folder) / "new.db"
        shutil.copyfile(path, copy)
        with suppress(FileNotFoundError):
            shutil.copyfile(beside(path, "-wal"), beside(copy, "-wal"))
        salvaged = _salvaged(copy, new)
        names = (beside(path, f".damaged-{number}") for number in count(1))
        backup = next(name for name in names if not name.exists())
        # The note comes first, so that a new file is never without one.
        repairs.save(path, repairs.Repair(backup.name, reason, salvaged))
        _replace(path, new, backup)


def _replace(path: Path, new: Path, kept: Path) -> None:
    """Swap in the new file, after moving the old log out of its way."""
    link_new(path, kept)
    with suppress(FileNotFoundError):
        beside(path, "-wal").rename(beside(kept, "-wal"))
    beside(path, "-shm").unlink(missing_ok=True)
    new.rename(path)
    sync_folder(path.parent)


def _salvaged(copy: Path, new: Path) -> dict[str, int]:
    """Copy readable rows into a new database and return their number per table."""
    create_private(new)
    with closing(connect(new)) as target:
        target.execute("PRAGMA synchronous = FULL")
        target.execute("PRAGMA journal_mode = WAL")
        migrate(target)
        counts = _copied(copy, target)
        if not any(counts.values()):
            # Perhaps only the header is lost, or the table list in the first page.
            for page in _first_pages(copy):
                patched = copy.with_name("patched.db")
                patched.write_bytes(page)
                counts = _copied(patched, target)
                patched.unlink()
                if any(counts.values()):
                    break
    return counts


def _first_pages(damaged: Path) -> Iterator[bytes]:
    """Yield the file with the header, then with the whole first page, of an intact database.

    Tables are always created in the same order, so they start at the same pages.
    """
    content = damaged.read_bytes()
    model_path = damaged.with_name("model.db")
    create_private(model_path)
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
    """Pad a truncated file with zeros: sqlite refuses one that is shorter than its header says."""
    with path.open("r+b") as file:
        head = file.read(_HEAD)
        size = file.seek(0, os.SEEK_END)
        pages = int.from_bytes(head[_PAGES_AT : _PAGES_AT + 4]) if head[:16] == _MAGIC else 0
        # A corrupt page count must not fill the disk.
        length = max(min(pages * _PAGE_SIZE, size * 2 + (1 << 20)), size)
        file.truncate(length + -length % _PAGE_SIZE)


def _kept(target: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> int:
    statement = (
        f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
    )
    try:
        return target.execute(statement, list(row.values())).rowcount
    except sqlite3.IntegrityError as error:
        debug(__name__, "a row of %s is not whole: %s", table, error)
        return 0


def _rows(
    source: sqlite3.Connection, table: str, columns: Iterable[str]
) -> Iterator[dict[str, Any]]:
    """Yield the readable rows of a table, from its start, from its end, and between damage."""
    present = _columns_there(source, table, columns)
    if not present:
        return
    names = ("rowid", *present)  # rowid keeps the order of rows
    select = f"SELECT {', '.join(names)} FROM {table} NOT INDEXED WHERE rowid"
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
        # Rows after the damage, then rows that the steps skipped on the way.
        for direction, start, stop in ((up, probe, end), (down, last, probe)):
            for row in _until_damage(source, direction, (start, stop)):
                last = max(last, row[0])
                yield dict(zip(names, row, strict=True))
        probe = max(probe, last) + _STEP


def _columns_there(
    source: sqlite3.Connection, table: str, columns: Iterable[str]
) -> tuple[str, ...]:
    """Return the columns that this file has too; none if the table is lost."""
    with suppress(sqlite3.Error, UnicodeDecodeError):
        present = {row[1] for row in source.execute(f"PRAGMA table_info({table})")}
        return tuple(column for column in columns if column in present)
    return ()


def _until_damage(
    source: sqlite3.Connection, query: str, values: tuple[int, int]
) -> Iterator[tuple[Any, ...]]:
    try:
        yield from source.execute(query, values)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if not is_suspicious(error):
            raise
