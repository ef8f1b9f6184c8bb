"""Is a session at work right now? Claude Code keeps a file for each running process."""

import os
from pathlib import Path

import msgspec

from prong.agents import jsonl


class _Process(msgspec.Struct, rename="camel"):
    pid: int
    session_id: str
    status: str | None = None
    proc_start: str | None = None


_process = msgspec.json.Decoder(_Process).decode


def is_busy(root: Path, session_id: str) -> bool:
    """True when a living process has this session open and is not waiting for a prompt."""
    try:
        entries = list((root / "sessions").glob("*.json"))
    except OSError:
        return False
    for entry in entries:
        try:
            process = jsonl.decoded(_process, entry.read_bytes())
        except OSError:
            continue
        if process is None:
            continue
        if process.session_id == session_id and process.status != "idle" and _is_alive(process):
            return True
    return False


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
