"""Is a thread at work right now? A Codex process that has it open holds a lock on a file.

The lock says that it is open; whether a turn runs is said by the last mark in its rollout.
"""

import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from prong.agents import jsonl
from prong.agents.codex.records import Line
from prong.model import Activity

_LOCKS = Path("/proc/locks")
_BLOCK = 1 << 16
_MARKS = {"task_started": Activity.BUSY, "task_complete": Activity.IDLE}
_MARKS["turn_aborted"] = Activity.IDLE
_line = msgspec.json.Decoder(Line).decode


def is_open(root: Path, thread_id: str) -> bool:
    """True when some process has the thread open for writing. A left-over lock file is not that."""
    path = root / "thread-writer-locks" / f"{thread_id}.lock"
    try:
        inode = path.stat().st_ino
    except OSError:
        return False
    try:
        locks = _LOCKS.read_text()
    except OSError:
        return _is_locked(path)
    # Looking must not lock: a Codex that starts at that instant would think it is too late.
    return any(
        " FLOCK " in line and line.split()[5].rpartition(":")[2] == str(inode)
        for line in locks.splitlines()
    )


def _is_locked(path: Path) -> bool:
    try:
        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def activity(path: Path) -> Activity:
    """What an open thread is doing: the last mark of a turn in its file tells."""
    try:
        with jsonl.open_file(path) as file:
            for line in _from_behind(file):
                # Most lines are no marks, and some are large.
                if any(mark.encode() in line for mark in _MARKS):
                    record = jsonl.decoded(_line, line)
                    payload = record.payload if record else None
                    if record and payload and record.type == "event_msg" and payload.type in _MARKS:
                        return _MARKS[payload.type]
    except OSError:
        pass
    # Opened, and nothing asked yet.
    return Activity.IDLE


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
