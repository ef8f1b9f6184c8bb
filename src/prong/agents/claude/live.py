"""Is a session at work right now? Claude Code keeps a file for each running process."""

from pathlib import Path

import msgspec

from prong.agents import jsonl
from prong.model import Activity
from prong.processes import is_alive
from prong.regular import read_regular
from prong.worker import Process


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
            process = jsonl.decoded(_process, read_regular(entry))
        except OSError:
            continue
        if (
            process is None
            or process.session_id != session_id
            or not is_alive(Process(process.pid, process.proc_start))
        ):
            continue
        if process.status != "idle":
            return Activity.BUSY
        found = Activity.IDLE
    return found
