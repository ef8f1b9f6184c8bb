"""The event log of `prong-hook`: one JSON line for each event, until `prong` reads them.

    {"version": 1, "time": "2026-11-16T04:44:33.120Z", "agent": "claude", "session": "60309e1e-...",
     "event": "Stop", "detail": null, "state": "idle", "turn": "1f0d2c7a-...",
     "cwd": "/home/ada/shop", "transcript": "/home/ada/.claude/projects/.../60309e1e-....jsonl",
     "worker": null,
     "snapshot": {"turn", "message", "repo", "ref", "commit", "changed", "late", "degraded"},
     "commit": {"commit", "reason", "push"}, "degraded": null,
     "missing": null, "seconds": 0.081}

`state` is busy, idle, waiting (for the user) or gone, or null if the event does not change it.
`turn` is null if the agent does not send it. `snapshot` is null if none was taken; a late one is
of a turn that ended earlier. At a prompt its `turn` may be `next-` and the previous turn's id: the
code that the new turn starts with. `degraded` explains what is incomplete, and `missing` is the
turn whose snapshot failed or ran out of time; the next prompt tries again. `worker` is the
worker's name or null. `commit` is the result of committing a turn and the remote it is pushed to,
or null if that was not requested.

Many hooks write at once, so each line is a single write under a lock. A reader first moves the
file aside, so every line is read at least once, even after a crash.
"""

import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from prong.files.atomic import locked
from prong.files.regular import objects_in, read_regular
from prong.paths import private_dir, state_dir

VERSION = 1
_NAME = "events.jsonl"
_TAKEN = "taken-*.jsonl"
_PATIENCE = 1.0
_LARGEST = 1 << 30
"""Maximum size in bytes of the events in one file."""


def folder() -> Path:
    return state_dir() / "spool"


def append(event: Mapping[str, Any], where: Path | None = None) -> None:
    """Append a line. After a partial one, it starts on a new line."""
    path = private_dir(where or folder()) / _NAME
    line = json.dumps({"version": VERSION, **event}, separators=(",", ":")).encode() + b"\n"
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # A process that holds the lock for so long is suspended; O_APPEND is safe enough then.
            locked(descriptor, _PATIENCE)
            if not _is_still(descriptor, path):
                continue  # moved aside before we got the lock
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            os.write(descriptor, line)
            return
        finally:
            os.close(descriptor)


@contextmanager
def taken(where: Path | None = None) -> Generator[list[dict[str, Any]]]:
    """Yield the events so far, and delete them if the block succeeds."""
    spool = where or folder()
    _move_aside(spool)
    files = sorted(spool.glob(_TAKEN), key=_modified)
    yield [event for path in files for event in _events(path)]
    for path in files:
        path.unlink(missing_ok=True)


def waiting(where: Path | None = None) -> list[dict[str, Any]]:
    """Return the events so far without deleting them."""
    spool = where or folder()
    # Read the newest first: a reader only ever moves lines from there to the other files.
    newest = _events(spool / _NAME)
    files = sorted(spool.glob(_TAKEN), key=_modified)
    return [*(event for path in files for event in _events(path)), *newest]


def _modified(path: Path) -> int:
    with suppress(FileNotFoundError):  # another process has just read them
        return path.stat().st_mtime_ns
    return 0


def _move_aside(spool: Path) -> None:
    path = spool / _NAME
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    try:
        locked(descriptor, _PATIENCE)
        if _is_still(descriptor, path):
            path.rename(spool / f"taken-{os.urandom(8).hex()}.jsonl")
    finally:
        os.close(descriptor)


def _is_still(descriptor: int, path: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


def _events(path: Path) -> list[dict[str, Any]]:
    try:
        content = read_regular(path, _LARGEST)
    except OSError:
        return []  # deleted, or not a regular file, so not written by a hook
    return list(objects_in(content))
