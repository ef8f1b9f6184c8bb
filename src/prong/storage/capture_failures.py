"""Failed code captures in state.db. The hook reports them through the spool."""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prong.model.code import TurnKey
from prong.model.record import Record
from prong.model.sessions import SessionRef
from prong.storage.connection import read, write
from prong.storage.values import as_bytes, as_text

_COLUMNS = "agent, session, turn_id, time, reason, folder"
_ADD = f"""
    INSERT INTO capture_failures ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (agent, session, turn_id) DO UPDATE
    SET time = excluded.time, reason = excluded.reason, folder = excluded.folder
    WHERE excluded.time >= capture_failures.time
"""  # noqa: S608 -- only the names above
_SELECT = f"SELECT {_COLUMNS} FROM capture_failures"  # noqa: S608
_AT_A_TIME = 500
"""Sqlite limits the number of values in one query."""


class CaptureFailure(Record, frozen=True):
    """A turn whose code could not be captured at `time`."""

    key: TurnKey
    time: datetime
    reason: str
    folder: Path | None = None
    """The agent's folder."""


class CaptureFailureRecords:
    """The last failed capture of each turn. A later snapshot supersedes it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, *failures: CaptureFailure) -> None:
        """Record failures, all or none."""
        if failures:
            rows = [_row(failure) for failure in failures]
            write(self._path, lambda connection: connection.executemany(_ADD, rows))

    def all(self) -> list[CaptureFailure]:
        """Return every failure, newest first."""
        return _failures(read(self._path, f"{_SELECT} ORDER BY time DESC"))

    def of_turns(self, session: SessionRef, turn_ids: Collection[str]) -> dict[str, CaptureFailure]:
        """Return the failures of these turns, by turn id. A fork shares the turns of its source.

        The code before the first prompt belongs to one session only.
        """
        ids = list(turn_ids)
        failures: list[CaptureFailure] = []
        for start in range(0, len(ids), _AT_A_TIME):
            batch = ids[start : start + _AT_A_TIME]
            marks = ", ".join("?" * len(batch))
            query = f"{_SELECT} WHERE agent = ? AND turn_id IN ({marks}) ORDER BY time"
            failures += _failures(read(self._path, query, (session.agent, *batch)))
        return {
            failure.key.turn_id: failure
            for failure in failures
            if failure.key.turn_id != TurnKey.BASELINE or failure.key.session == session.id
        }


def from_events(events: Iterable[Mapping[str, Any]]) -> list[CaptureFailure]:
    """Read failures from spool events."""
    failures: list[CaptureFailure] = []
    for event in events:
        match event:
            case {
                "agent": str(agent),
                "session": str(session),
                "missing": str(turn_id),
                "time": str(time),
            }:
                reason, folder = event.get("degraded"), event.get("cwd")
                key = TurnKey(agent, session, turn_id)
                row = (*key, time, reason or "unknown reason", _encoded(folder))
                failures += _failures([row])
            case _:
                pass
    return failures


def _encoded(folder: object) -> bytes | None:
    try:
        return as_bytes(folder) if isinstance(folder, str) else None
    except UnicodeEncodeError:
        return None


def _row(failure: CaptureFailure) -> tuple[object, ...]:
    # In one format, so that sqlite can compare them.
    time = failure.time.astimezone(UTC).isoformat(timespec="microseconds")
    folder = as_bytes(str(failure.folder)) if failure.folder else None
    return (*failure.key, time, failure.reason, folder)


def _failures(rows: Iterable[tuple[Any, ...]]) -> list[CaptureFailure]:
    failures: list[CaptureFailure] = []
    for agent, session, turn_id, time, reason, folder in rows:
        try:
            when = datetime.fromisoformat(time).astimezone(UTC)
        except (TypeError, ValueError):
            continue
        path = as_text(folder)
        key = TurnKey(agent, session, turn_id)
        failures.append(CaptureFailure(key, when, str(reason), Path(path) if path else None))
    return failures
