"""Is a session at work right now? Claude Code keeps a file for each running process."""

import os
from pathlib import Path

import msgspec


class _Process(msgspec.Struct, rename="camel"):
    pid: int
    session_id: str
    status: str | None = None
    proc_start: str | int | None = None


_process = msgspec.json.Decoder(_Process).decode


def is_busy(root: Path, session_id: str) -> bool:
    """True when a living process has this session open and is not waiting for a prompt."""
    try:
        entries = list((root / "sessions").glob("*.json"))
    except OSError:
        return False
    for entry in entries:
        try:
            process = _process(entry.read_bytes())
        except (OSError, msgspec.MsgspecError):
            continue
        if process.session_id == session_id and process.status != "idle" and _is_alive(process):
            return True
    return False


def _is_alive(process: _Process) -> bool:
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    started = _start_of(process.pid)
    # A pid is used again; the start time tells the processes apart.
    return started is None or process.proc_start is None or str(process.proc_start) == started


def _start_of(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The second field, the program's name, may hold spaces and brackets.
    return stat.rpartition(")")[2].split()[19]
