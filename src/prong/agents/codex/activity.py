"""Is a thread at work right now? A Codex process that has it open holds a lock on a file.

The lock says that it is open; whether a turn runs is said by the last mark in its rollout.
"""

import fcntl
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

import msgspec

from prong.agents import jsonl
from prong.agents.codex.records import RolloutLine
from prong.agents.common import parse_time
from prong.files.regular import open_regular
from prong.model.sessions import Activity
from prong.processes.process import locks

_BLOCK = 1 << 16
_MARKS = {"task_started": Activity.BUSY, "task_complete": Activity.IDLE}
_MARKS["turn_aborted"] = Activity.IDLE
_RESULTS = ("function_call_output", "custom_tool_call_output")
_SOUGHT = tuple(name.encode() for name in (*_MARKS, *_RESULTS))
_line = msgspec.json.Decoder(RolloutLine).decode
_DAY = timedelta(days=1)


def is_open(root: Path, thread_id: str) -> bool:
    """True when some process has the thread open for writing. A left-over lock file is not that."""
    path = root / "thread-writer-locks" / f"{thread_id}.lock"
    try:
        inode = path.stat().st_ino
    except OSError:
        return False
    held = locks()
    if held is None:
        return _is_locked(path)
    # Looking must not lock: a Codex that starts at that instant would think it is too late.
    return any(locked == inode for locked, _ in held)


def _is_locked(path: Path) -> bool:
    try:
        with open_regular(path) as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def activity(path: Path) -> Activity:
    """What an open thread is doing: the last mark of a turn in its file tells."""
    return last_mark(path)[0]


def last_mark(path: Path) -> tuple[Activity, datetime | None]:
    """What an open thread is doing, and the time of the last line that shows it.

    In a turn that is the last result of a tool: the line before a tool runs does not show whether
    Codex has asked a person first.
    """
    since: datetime | None = None
    try:
        with jsonl.open_file(path) as file:
            for line in _from_behind(file):
                # Most lines are no marks, and some are large.
                if not any(mark in line for mark in _SOUGHT):
                    continue
                record = jsonl.decoded(_line, line)
                payload = record.payload if record else None
                if record is None or payload is None:
                    continue
                if record.type == "response_item" and payload.type in _RESULTS:
                    since = since or parse_time(record.timestamp)
                if record.type == "event_msg" and payload.type in _MARKS:
                    activity = _MARKS[payload.type]
                    own = parse_time(record.timestamp)
                    return activity, (since or own) if activity is Activity.BUSY else own
    except OSError:
        pass
    # Opened, and nothing asked yet.
    return Activity.IDLE, None


def _from_behind(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, the last one first."""
    end = jsonl.size_of(file)
    rest: list[bytes] = []
    while end > 0:
        start = max(0, end - _BLOCK)
        file.seek(start)
        block = file.read(end - start)
        end = start
        first, *lines = block.split(b"\n")
        if not lines:
            rest.append(first)
            continue
        lines[-1] = b"".join([lines[-1], *reversed(rest)])
        yield from reversed(lines)
        rest = [first]
    yield b"".join(reversed(rest))


def folders(roots: Iterable[Path], threads: Iterable[str]) -> set[Path]:
    """Folders in which something changes when a process begins or ends a turn.

    A rollout is in the folder of the day on which its thread began, and a rewind continues in that
    of today. An id tells the day up to the time zone, so the days around it belong to it.
    """
    days = {datetime.now(UTC).date(), *(day for thread in threads if (day := _day_of(thread)))}
    around = {day + step for day in days for step in (-_DAY, timedelta(), _DAY)}
    found: set[Path] = set()
    for root in roots:
        found.add(root / "thread-writer-locks")
        found |= {root / "sessions" / f"{day:%Y/%m/%d}" for day in around}
    return found


def _day_of(thread: str) -> date | None:
    try:
        milliseconds = UUID(thread).int >> 80
        return datetime.fromtimestamp(milliseconds / 1000, UTC).date()
    except (ValueError, OverflowError):
        return None  # not an id of Codex's own making
