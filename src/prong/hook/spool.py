"""What `prong-hook` tells: one JSON line for each event, until `prong` itself takes them in.

    {"version": 1, "time": "2026-11-16T04:44:33.120Z", "agent": "claude", "session": "60309e1e-...",
     "event": "Stop", "detail": null, "state": "idle", "turn": "1f0d2c7a-...",
     "cwd": "/home/ada/shop", "transcript": "/home/ada/.claude/projects/.../60309e1e-....jsonl",
     "worker": null,
     "snapshot": {"turn", "message", "repo", "ref", "commit", "changed", "late", "degraded"},
     "commit": {"commit", "reason", "push"}, "degraded": null,
     "missing": null, "seconds": 0.081}

`state` is busy, idle, waiting (wants a person) or gone; null when the event does not change it.
`turn` is null where the agent does not tell. `snapshot` is null when none was taken; a late one is
of a turn that ended earlier. At a prompt its `turn` may be `next-` and the turn before: the code
that the new turn begins with. `degraded` says why something is missing, and `missing` is the turn
whose snapshot was not taken: it failed, or there was no time. The next prompt tries again. `worker`
is the name of the worker that the agent is, or null. `commit` says what became of a turn that was
to be committed and to which remote it is being pushed; null when nobody asked for that.

Many hooks write at the same time, so each line is one write under a lock. Whoever takes the lines
in moves the file aside first: a line is taken in at least once, whatever happens in between.
"""

import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from prong.files.lock import locked
from prong.files.regular import read_regular
from prong.paths import private_dir, state_dir

VERSION = 1
_NAME = "events.jsonl"
_TAKEN = "taken-*.jsonl"
_PATIENCE = 1.0
_LARGEST = 1 << 30
"""Bytes of events, written while nobody took them in."""


def folder() -> Path:
    return state_dir() / "spool"


def append(event: Mapping[str, Any], where: Path | None = None) -> None:
    """Add a line. It is whole, or the next one begins on a line of its own."""
    path = private_dir(where or folder()) / _NAME
    line = json.dumps({"version": VERSION, **event}, separators=(",", ":")).encode() + b"\n"
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # Who holds the lock too long is stopped; O_APPEND is safe enough then.
            locked(descriptor, _PATIENCE)
            if not _is_still(descriptor, path):
                continue  # moved aside before we had the lock
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            os.write(descriptor, line)
            return
        finally:
            os.close(descriptor)


@contextmanager
def taken(where: Path | None = None) -> Generator[list[dict[str, Any]]]:
    """The lines so far. They are gone when the block ends well, and stay when it fails."""
    spool = where or folder()
    _move_aside(spool)
    files = sorted(spool.glob(_TAKEN), key=_modified)
    yield [event for path in files for event in _events(path)]
    for path in files:
        path.unlink(missing_ok=True)


def waiting(where: Path | None = None) -> list[dict[str, Any]]:
    """The lines so far; they stay."""
    spool = where or folder()
    # The newest first: who takes the lines in moves them from here to there, never back.
    newest = _events(spool / _NAME)
    files = sorted(spool.glob(_TAKEN), key=_modified)
    return [*(event for path in files for event in _events(path)), *newest]


def _modified(path: Path) -> int:
    with suppress(FileNotFoundError):  # somebody else has just taken them in
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
        return []  # gone, or a pipe of that name: nothing that a hook wrote
    found: list[dict[str, Any]] = []
    for line in content.split(b"\n"):
        with suppress(ValueError):  # half a line, from a full disk
            event: Any = json.loads(line)
            if isinstance(event, dict):
                found.append(cast(dict[str, Any], event))
    return found
