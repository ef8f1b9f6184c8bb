"""Records as rows of state.db, and back."""

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

from prong.log import debug
from prong.storage.connection import read, write

T = TypeVar("T")


def name_bytes(text: str | None) -> bytes | None:
    """Encode a path or branch: names need not be valid text."""
    return None if text is None else os.fsencode(text)


def path_in(value: Any) -> str | None:
    """Return the value if it can be a path, else None."""
    try:
        os.fsencode(value)
    except (TypeError, UnicodeEncodeError):
        return None
    return value


def time_in(text: str) -> datetime | None:
    """Return a time that a hook reported, if it is one."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        return None


def time_column(time: datetime) -> str:
    """Encode a time in one format, so that sqlite can compare them."""
    return time.astimezone(UTC).isoformat(timespec="microseconds")


def as_column(value: Any) -> Any:
    match value:
        case bool():
            return int(value)
        case Path():
            return os.fsencode(value)
        case datetime():
            return value.astimezone(UTC).isoformat()
        case _:
            return value


class Records(Generic[T]):
    """The rows of one table. Reads are best effort; writes raise. Names of files are bytes."""

    def __init__(
        self,
        path: Path,
        table: str,
        columns: Sequence[str],
        decode: Callable[[dict[str, Any]], T],
    ) -> None:
        self.path = path
        self._table = table
        self._columns = columns
        self._decode = decode
        self._into = f"INTO {table} ({', '.join(columns)}) VALUES (:{', :'.join(columns)})"

    def _write_all(self, statement: str, rows: Sequence[Any]) -> None:
        """Run a statement for each row, all or none."""
        if rows:
            write(self.path, lambda connection: connection.executemany(statement, rows))

    def _query(self, rest: str) -> str:
        return f"SELECT {', '.join(self._columns)} FROM {self._table} {rest}"

    def _select(self, rest: str, *values: Any) -> list[T]:
        """Return the rows that `rest` of the query selects, without unreadable ones."""
        return self._decoded(read(self.path, self._query(rest), values))

    def _decoded(self, rows: Iterable[Sequence[Any]]) -> list[T]:
        records: list[T] = []
        for row in rows:
            values = (os.fsdecode(item) if isinstance(item, bytes) else item for item in row)
            try:
                records.append(self._decode(dict(zip(self._columns, values, strict=True))))
            except (ValueError, TypeError) as error:
                debug(__name__, "a row of %s is not readable: %s", self._table, error)
        return records
