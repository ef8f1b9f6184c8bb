"""What each agent was last heard to do."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from prong.model.sessions import SessionRef
from prong.storage import activity
from prong.storage.activity import ActivityRecords, RecordedActivity

SESSION = SessionRef("claude", "s1")
OTHER = SessionRef("codex", "s1")
START = datetime(2026, 11, 16, 4, 44, tzinfo=UTC)


def at(second: int, state: str, session: SessionRef = SESSION) -> RecordedActivity:
    return RecordedActivity(session, state, START + timedelta(seconds=second))


@pytest.fixture
def records(tmp_path: Path) -> ActivityRecords:
    return ActivityRecords(tmp_path / "state.db")


def test_nothing_was_heard(records: ActivityRecords) -> None:
    records.add()
    assert records.all() == {}


def test_what_was_told_last_counts(records: ActivityRecords) -> None:
    records.add(at(1, "busy"), at(0, "idle", OTHER), at(2, "waiting"))
    assert records.all() == {OTHER: at(0, "idle", OTHER), SESSION: at(2, "waiting")}
    # Lines of the spool may come twice, and late.
    records.add(at(1, "busy"))
    assert records.all()[SESSION].state == "waiting"
    records.add(at(2, "idle"))
    assert records.all()[SESSION].state == "idle"
    records.add(at(3, "gone"))
    assert list(records.all().values()) == [at(0, "idle", OTHER), at(3, "gone")]


def test_all_of_it_is_kept(records: ActivityRecords) -> None:
    whole = RecordedActivity(SESSION, "waiting", START, "permission_prompt", "/code/\udcff")
    records.add(whole)
    assert records.all() == {SESSION: whole}


def line(**changes: Any) -> dict[str, Any]:
    told = {
        "version": 1,
        "time": "2026-11-16T04:44:00.120Z",
        "agent": "claude",
        "session": "s1",
        "event": "Notification",
        "detail": "permission_prompt",
        "state": "waiting",
        "cwd": "/code/shop",
        "snapshot": None,
    }
    return {**told, **changes}


def test_lines_of_the_spool(records: ActivityRecords) -> None:
    when = START + timedelta(milliseconds=120)
    expected = RecordedActivity(SESSION, "waiting", when, "permission_prompt", "/code/shop")
    assert activity.from_events([line()]) == [expected]
    odd = [line(detail="\ud800", cwd="\ud800"), line(detail=1, cwd=None)]
    assert [(one.detail, one.cwd) for one in activity.from_events(odd)] == [(None, None)] * 2
    nothing = [line(state=None), line(time="soon"), line(session="\ud800"), line(agent=None), {}]
    assert activity.from_events(nothing) == []
    records.add(*activity.from_events([*odd, line()]))
    assert records.all() == {SESSION: expected}
