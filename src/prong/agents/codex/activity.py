"""What a running Codex does, by its locks, the end of its rollout, and its screen.

Codex holds a lock for each thread it has open. The last mark in the rollout shows if a turn runs.

Measured: the terminal UI locks its thread's file as soon as it accepts input, and keeps the locks
of all threads it had open before (`/new`). A permission request leaves no trace in Codex's files;
only the hook `PermissionRequest` reports it, at once.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from pathlib import Path
from uuid import UUID

import msgspec

from prong.agents import jsonl
from prong.agents.codex.fields import text_of, typed
from prong.agents.codex.library import RolloutName
from prong.agents.codex.records import RolloutLine
from prong.agents.common import foot, parse_time
from prong.agents.last_turn import lines_backwards
from prong.files.atomic import locked
from prong.files.regular import open_regular
from prong.model.record import Record
from prong.model.sessions import Activity
from prong.model.workers import LastWords, OpenSession
from prong.processes import process

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
_LONGEST = 1 << 20
"""Bytes read of a first line."""


def is_open(root: Path, thread_id: str) -> bool:
    """Check whether a process has the thread open for writing. A stale lock file does not count."""
    path = root / "thread-writer-locks" / f"{thread_id}.lock"
    try:
        inode = path.stat().st_ino
    except OSError:
        return False
    active_locks = process.locks()
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
        for line, _ in lines_backwards(file):
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


def last_words(lines: Iterable[bytes]) -> LastWords:
    """Return the last prompt and answer; the last line comes first."""
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


# -- live processes -------------------------------------------------------------------------------


class _Held(Record, frozen=True):
    thread: str
    holder: int
    since: float
    """Time of the lock."""


def open_sessions(roots: Sequence[Path], pids: Iterable[int]) -> Mapping[int, OpenSession]:
    workers = frozenset(pids)
    by_owner: dict[int, list[_Held]] = {}
    for lock in _held(roots) if workers else ():
        family = chain([lock.holder], process.ancestors(lock.holder))
        owner = next((pid for pid in family if pid in workers), None)
        if owner is not None:
            by_owner.setdefault(owner, []).append(lock)
    return {pid: _current(threads) for pid, threads in by_owner.items()}


def _held(roots: Sequence[Path]) -> Iterator[_Held]:
    """Yield all open threads: their files are locked, or open where locks are unknown."""
    files: dict[int, os.DirEntry[str]] = {}
    for root in roots:
        with suppress(OSError), os.scandir(root / "thread-writer-locks") as entries:
            files |= {entry.inode(): entry for entry in entries if not entry.name.startswith(".")}
    if not files:
        return
    active_locks = process.locks()
    for inode, holder in _opened() if active_locks is None else active_locks:
        entry = files.get(inode)
        if entry is not None and entry.name.endswith(".lock"):
            with suppress(OSError):
                yield _Held(entry.name.removesuffix(".lock"), holder, entry.stat().st_mtime)


def _opened() -> Iterator[tuple[int, int]]:
    """Yield the inode of every open file and the process that has it open."""
    for pid, facts in process.running("open_files"):
        for file in facts["open_files"] or ():
            with suppress(OSError):
                yield Path(file.path).stat().st_ino, pid


def _current(threads: Sequence[_Held]) -> OpenSession:
    """Return the thread that a process shows: the one opened or written last."""
    rollouts = _rollouts({held.holder for held in threads})
    if len(threads) > 1:
        main = [held for held in threads if not _is_subagent(rollouts.get(held.thread))]
        threads = main or threads

    def last_used(held: _Held) -> tuple[float, str]:
        path = rollouts.get(held.thread)
        with suppress(OSError):
            return max(held.since, path.stat().st_mtime if path else 0), held.thread
        return held.since, held.thread

    current = max(threads, key=last_used)
    path = rollouts.get(current.thread)
    # Without a file, no prompt was sent since it was opened.
    activity, since = last_mark(path) if path else (Activity.IDLE, None)
    return OpenSession(current.thread, activity, since, source="lock")


def _rollouts(pids: Iterable[int]) -> dict[str, Path]:
    """Map threads to the files that processes write to; a rewind starts another file."""
    newest: dict[str, tuple[float, Path]] = {}
    opened = (process.facts(pid, "open_files").get("open_files") or () for pid in pids)
    for path in (Path(file.path) for files in opened for file in files):
        with suppress(OSError):
            name = RolloutName.parse(path.name) if path.name.startswith("rollout-") else None
            if name is not None:
                entry = (path.stat().st_mtime, path)
                newest[name.thread] = max(entry, newest.get(name.thread, entry))
    return {thread: path for thread, (_, path) in newest.items()}


def _is_subagent(path: Path | None) -> bool:
    if path is None:
        return False
    with suppress(OSError), open_regular(path) as file:
        header = jsonl.decoded(decode_line, file.readline(_LONGEST))
        payload = header.payload if header else None
        return payload is not None and payload.thread_source == "subagent"
    return False


# -- the screen -----------------------------------------------------------------------------------

_DIALOGS = {
    "Press enter to confirm or esc to cancel": "permission",
    "enter continue \u00b7 esc quit": "trust",
    "enter continue \u00b7 esc back": "trust",  # newer wording
}
"""The key hints at the bottom of each dialog."""


def dialog_on(screen: str) -> str | None:
    rows = foot(screen)
    return next((kind for words, kind in _DIALOGS.items() if words in rows), None)


_INPUT_SIGNS = {"\u203a": "", "!": "!"}
"""The signs that start the input line, and the prefix for the mode of each."""


def input_on(screen: str) -> str | None:
    """Return the text in Codex's input line, which has an empty row and hints below it."""
    rows = screen.splitlines()
    signs = [i for i, row in enumerate(rows) if row[:1] in _INPUT_SIGNS]
    empty = [i for i, row in enumerate(rows) if not row.strip() and any(rows[i + 1 :])]
    if not signs or not empty or empty[-1] < signs[-1]:
        return None
    first = rows[signs[-1]]
    return _INPUT_SIGNS[first[0]] + "\n".join([first[1:], *rows[signs[-1] + 1 : empty[-1]]]).strip()
