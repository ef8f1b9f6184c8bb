"""Is a session at work right now? Claude Code keeps a file for each running process."""

import os
from pathlib import Path

import msgspec

from prong.agents import jsonl
from prong.model import Activity


class _Process(msgspec.Struct, rename="camel"):
    pid: int
    session_id: str
    status: str | None = None
    proc_start: str | None = None


_process = msgspec.json.Decoder(_Process).decode


def activity(root: Path, session_id: str) -> Activity:
    """Busy when a living process has the session open and does not wait for a prompt."""
    try:
        entries = list((root / "sessions").glob("*.json"))
    except OSError:
        return Activity.CLOSED
    found = Activity.CLOSED
    for entry in entries:
        try:
            process = jsonl.decoded(_process, entry.read_bytes())
        except OSError:
            continue
        if process is None or process.session_id != session_id or not _is_alive(process):
            continue
        if process.status != "idle":
            return Activity.BUSY
        found = Activity.IDLE
    return found


def _is_alive(process: _Process) -> bool:
    if process.pid <= 0:
        # To `kill` these are groups of processes.
        return False
    try:
        os.kill(process.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    try:
        stat = Path(f"/proc/{process.pid}/stat").read_text()
    except OSError:
        # No such file system: then the pid alone must do.
        return True
    # The second field, the program's name, may hold spaces and brackets.
    state, *fields = stat.rpartition(")")[2].split()
    # A killed process may still stand there until its parent looks; and a pid is used again, so
    # the start time must be the same.
    return state not in "ZX" and process.proc_start in (None, fields[18])
