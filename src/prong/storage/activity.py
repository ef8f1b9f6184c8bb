"""Last reported activity of each session in state.db: busy, idle, waiting or gone.

Hooks report it. Each session has one row; the newest report wins, in whatever order they arrive.
"""

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from prong.model.record import Record, asdict, convert
from prong.model.sessions import SessionRef
from prong.storage.rows import Records, name_bytes, path_in, time_column, time_in

_COLUMNS = ("agent", "session", "state", "detail", "time", "cwd", "worker")
_UPDATE = """
    ON CONFLICT (agent, session) DO UPDATE
    SET state = excluded.state, detail = excluded.detail, time = excluded.time, cwd = excluded.cwd,
        worker = coalesce(excluded.worker, activity.worker)
    WHERE excluded.time >= activity.time
"""
_ABOUT = """
    WHERE session IN (SELECT value FROM json_each(?))
    OR worker IN (SELECT value FROM json_each(?))
"""
_NEWEST_LAST = "ORDER BY time, rowid"


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


class ActivityRecords(Records[RecordedActivity]):
    def __init__(self, path: Path) -> None:
        super().__init__(path, "activity", _COLUMNS, _activity)

    def add(self, *activities: RecordedActivity) -> None:
        """Record activities, all or none. Reports older than the recorded one are ignored."""
        self._write_all(f"INSERT {self._into} {_UPDATE}", [_row(item) for item in activities])

    def all(self) -> dict[SessionRef, RecordedActivity]:
        """Return the last activity of every known session, newest last."""
        return {item.session: item for item in self._select(_NEWEST_LAST)}

    def about(
        self, sessions: Iterable[str], workers: Iterable[str]
    ) -> dict[SessionRef, RecordedActivity]:
        """Return the last activity of these sessions, and of every session of these workers."""
        ids = (json.dumps(list(sessions)), json.dumps(list(workers)))
        return {item.session: item for item in self._select(f"{_ABOUT} {_NEWEST_LAST}", *ids)}


def from_events(events: Iterable[dict[str, Any]]) -> list[RecordedActivity]:
    activities: list[RecordedActivity] = []
    for event in events:
        match event:
            case {
                "agent": str(agent),
                "session": str(session),
                "state": str(state),
                "time": str(at),
            }:
                ref, time = SessionRef(agent, session), time_in(at)
                if time is not None and f"{ref} {state}".isprintable():
                    detail, cwd = _word(event.get("detail")), path_in(event.get("cwd"))
                    worker = _word(event.get("worker"))
                    activities.append(RecordedActivity(ref, state, time, detail, cwd, worker))
            case _:
                pass
    return activities


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value.isprintable() else None


def _row(activity: RecordedActivity) -> dict[str, Any]:
    return {
        **asdict(activity),
        "agent": activity.session.agent,
        "session": activity.session.id,
        "time": time_column(activity.time),
        "cwd": name_bytes(activity.cwd),
    }


def _activity(row: dict[str, Any]) -> RecordedActivity:
    return convert({**row, "session": SessionRef(row["agent"], row["session"])}, RecordedActivity)
