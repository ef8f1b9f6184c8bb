"""Detect whether a thread is at work, and read its last prompt and answer.

Codex holds a lock for each thread it has open. The last mark in the rollout shows if a turn runs.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

import msgspec

from prong.agents import jsonl
from prong.agents.codex.fields import text_of, typed
from prong.agents.codex.records import RolloutLine
from prong.agents.common import parse_time
from prong.files.atomic import locked
from prong.files.regular import open_regular
from prong.model.sessions import Activity
from prong.model.workers import LastWords
from prong.processes.process import locks

_BLOCK = 1 << 16
_MARKS = {
    "task_started": Activity.BUSY,
    "task_complete": Activity.IDLE,
    "turn_aborted": Activity.IDLE,
}
_RESULTS = ("function_call_output", "custom_tool_call_output")
_SOUGHT = tuple(name.encode() for name in (*_MARKS, *_RESULTS))
_SPOKEN = (b'"UserMessage"', b'"user_message"', b'"assistant"')
decode_line = msgspec.json.Decoder(RolloutLine).decode
_DAY = timedelta(days=1)


def is_open(root: Path, thread_id: str) -> bool:
    """Check whether a process has the thread open for writing. A stale lock file does not count."""
    path = root / "thread-writer-locks" / f"{thread_id}.lock"
    try:
        inode = path.stat().st_ino
    except OSError:
        return False
    active_locks = locks()
    if active_locks is not None:
        # Check without locking: a Codex that starts at this instant would find the thread in use.
        return any(number == inode for number, _ in active_locks)
    with suppress(OSError), open_regular(path) as lock:
        return not locked(lock.fileno(), 0, shared=True)
    return False


def last_mark(path: Path) -> tuple[Activity, datetime | None]:
    """Return the activity of an open thread and the time of the last line that shows it.

    During a turn that is the last tool result: the line before a tool runs does not show whether
    Codex asked for permission first.
    """
    since: datetime | None = None
    with suppress(OSError), jsonl.open_file(path) as file:
        for line in _from_behind(file):
            # Decode only lines that may be marks; some are large.
            if not any(mark in line for mark in _SOUGHT):
                continue
            record = jsonl.decoded(decode_line, line)
            payload = record.payload if record else None
            if record is None or payload is None:
                continue
            time = parse_time(record.timestamp)
            if record.type == "response_item" and payload.type in _RESULTS:
                since = since or time
            if record.type == "event_msg" and payload.type in _MARKS:
                activity = _MARKS[payload.type]
                return activity, (since or time) if activity is Activity.BUSY else time
    # Opened, but not prompted yet.
    return Activity.IDLE, None


def _from_behind(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, the last one first."""
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


def last_words(path: Path) -> LastWords:
    """Return the last prompt and answer, from the end of the file."""
    words = _words(jsonl.last_lines(path))
    return words if words.said else _words(jsonl.last_lines(path, jsonl.LARGE_TAIL))


def _words(lines: Iterable[bytes]) -> LastWords:
    answer = ""
    for raw in lines:
        if not any(mark in raw for mark in _SPOKEN):
            continue
        line = jsonl.decoded(decode_line, raw)
        payload = line.payload if line else None
        if payload is None:
            continue
        if payload.role == "assistant" and not answer:
            answer = text_of(payload.content)
        elif payload.item is not None and payload.item.type == "UserMessage":
            return LastWords(typed(text_of(payload.item.content)), answer)
        elif payload.type == "user_message":
            return LastWords(typed(text_of(payload.message)), answer)
    return LastWords(None, answer)


def folders(roots: Iterable[Path], threads: Iterable[str]) -> set[Path]:
    """Return the folders in which something changes when a turn begins or ends.

    A rollout is in the folder of the day its thread began; a rewind continues in today's. The day
    in an id may differ by one because of the time zone, so its neighbours are included.
    """
    days = {datetime.now(UTC).date(), *(day for thread in threads if (day := _day_of(thread)))}
    nearby_days = {day + step for day in days for step in (-_DAY, timedelta(), _DAY)}
    watched: set[Path] = set()
    for root in roots:
        watched.add(root / "thread-writer-locks")
        watched |= {root / "sessions" / f"{day:%Y/%m/%d}" for day in nearby_days}
    return watched


def _day_of(thread: str) -> date | None:
    with suppress(ValueError, OverflowError):  # not an id that Codex generated
        milliseconds = UUID(thread).int >> 80
        return datetime.fromtimestamp(milliseconds / 1000, UTC).date()
    return None
