"""Last reported activity of each session in state.db: busy, idle, waiting or gone.

Hooks report it. Each session has one row; the newest report wins, in whatever order they arrive.
"""

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prong.log import debug
from prong.model.record import Record
from prong.model.sessions import SessionRef
from prong.storage.connection import read, write
from prong.storage.values import as_bytes, as_text

_COLUMNS = ("agent", "session", "state", "detail", "time", "cwd", "worker")
_ADD = f"""
    INSERT INTO activity ({", ".join(_COLUMNS)}) VALUES (:{", :".join(_COLUMNS)})
    ON CONFLICT (agent, session) DO UPDATE
    SET state = excluded.state, detail = excluded.detail, time = excluded.time, cwd = excluded.cwd,
        worker = coalesce(excluded.worker, activity.worker)
    WHERE excluded.time >= activity.time
"""  # noqa: S608 -- only the names above
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM activity"  # noqa: S608
_ABOUT = """
    WHERE session IN (SELECT value FROM json_each(?))
    OR worker IN (SELECT value FROM json_each(?))
"""


class RecordedActivity(Record, frozen=True):
    """What an agent has been doing in a session since `time`."""

    session: SessionRef
    state: str
    """busy, idle, waiting (for a person) or gone; a newer hook may report others."""
    time: datetime
    detail: str | None = None
    """The reason, in the agent's own term: `permission_prompt`, `prompt_input_exit`."""
    cwd: str | None = None
    """The agent's folder at that time."""
    worker: str | None = None
    """The name of the worker, if the agent was started as one."""


class ActivityRecords:
    """The last activity of each session. Reads are best effort; writes raise."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, *activities: RecordedActivity) -> None:
        """Record activities, all or none. Reports older than the recorded one are ignored."""
        if not activities:
            return
        rows = [_row(activity) for activity in activities]
        write(self._path, lambda connection: connection.executemany(_ADD, rows))

    def all(self) -> dict[SessionRef, RecordedActivity]:
        """Return the last activity of every known session, newest last."""
        return self._found(f"{_SELECT} ORDER BY time, rowid")

    def about(
        self, sessions: Iterable[str], workers: Iterable[str]
    ) -> dict[SessionRef, RecordedActivity]:
        """Return the last activity of these sessions, and of every session of these workers."""
        ids = (json.dumps(list(sessions)), json.dumps(list(workers)))
        return self._found(f"{_SELECT} {_ABOUT} ORDER BY time, rowid", ids)

    def _found(
        self, query: str, values: tuple[str, ...] = ()
    ) -> dict[SessionRef, RecordedActivity]:
        activities: dict[SessionRef, RecordedActivity] = {}
        for row in read(self._path, query, values):
            try:
                activity = _activity(dict(zip(_COLUMNS, row, strict=True)))
            except (ValueError, TypeError) as error:
                debug(__name__, "a recorded activity is not readable: %s", error)
            else:
                activities[activity.session] = activity
        return activities


def told(events: Iterable[dict[str, Any]]) -> list[RecordedActivity]:
    """Extract recorded activities from spool events."""
    activities: list[RecordedActivity] = []
    for event in events:
        match event:
            case {
                "agent": str(agent),
                "session": str(session),
                "state": str(state),
                "time": str(at),
            }:
                ref, time = SessionRef(agent, session), _time(at)
                if time is not None and f"{ref} {state}".isprintable():
                    detail, cwd = _word(event.get("detail")), _path(event.get("cwd"))
                    worker = _word(event.get("worker"))
                    activities.append(RecordedActivity(ref, state, time, detail, cwd, worker))
            case _:
                pass
    return activities


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value.isprintable() else None


def _path(value: Any) -> str | None:
    """Return the value if it can be a path, else None."""
    try:
        os.fsencode(value)
    except (TypeError, UnicodeEncodeError):
        return None
    return value


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        return None


def _row(activity: RecordedActivity) -> dict[str, Any]:
    return {
        "agent": activity.session.agent,
        "session": activity.session.id,
        "state": activity.state,
        "detail": activity.detail,
        # In one format, so that sqlite can compare them.
        "time": activity.time.astimezone(UTC).isoformat(timespec="microseconds"),
        "cwd": as_bytes(activity.cwd),
        "worker": activity.worker,
    }


def _activity(row: dict[str, Any]) -> RecordedActivity:
    return RecordedActivity(
        SessionRef(row["agent"], row["session"]),
        row["state"],
        datetime.fromisoformat(row["time"]),
        row["detail"],
        as_text(row["cwd"]),
        row["worker"],
    )
