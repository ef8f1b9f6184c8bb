"""Where something changes when a Codex process begins or ends a turn: its locks, its rollouts.

A rollout lies in the folder of the day on which its thread began, and a rewind goes on in that of
today. An id tells that day up to the time zone, so the neighbours belong to it.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from uuid import UUID

_ONE = timedelta(days=1)


def live_folders(roots: Iterable[Path], sessions: Iterable[str]) -> set[Path]:
    days = {datetime.now(UTC).date(), *(day for one in sessions if (day := _day(one)))}
    around = {day + step for day in days for step in (-_ONE, timedelta(), _ONE)}
    folders: set[Path] = set()
    for root in roots:
        folders.add(root / "thread-writer-locks")
        folders |= {root / "sessions" / f"{day:%Y/%m/%d}" for day in around}
    return folders


def _day(thread: str) -> date | None:
    try:
        milliseconds = UUID(thread).int >> 80
        return datetime.fromtimestamp(milliseconds / 1000, UTC).date()
    except (ValueError, OverflowError):
        return None  # not an id of Codex's own making
