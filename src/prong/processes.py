"""Processes of this machine: whether one still runs, and ending it.

The number of a process is used again by the system, so the time of its start belongs to it.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

from prong.worker import Process

_PROC = Path("/proc")
_DEAD = "ZX"
_LOOK_EVERY = 0.02


def process_of(pid: int) -> Process:
    """The process that has this number now."""
    found = _stat(pid)
    return Process(pid, f"{found[19]}@{_boot()}" if found else None)


def is_alive(process: Process) -> bool:
    """False also for another process that has got the number since, and for a zombie."""
    if process.pid <= 0:
        return False  # to `kill` these are groups of processes
    try:
        os.kill(process.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    found = _stat(process.pid)
    if found is None:
        # Without such a file system the number alone must do.
        return not _PROC.joinpath("self", "stat").exists()
    return found[0] not in _DEAD and _is_start(process.started, found[19])


def _is_start(known: str | None, ticks: str) -> bool:
    """True when a process that began at these ticks since the machine did is the known one.

    The number and the ticks may be the same once more after a reboot. Others (Claude Code) know the
    ticks alone.
    """
    if known is None:
        return True
    began, _, boot = known.partition("@")
    return began == ticks and boot in ("", _boot())


def _boot() -> str:
    """Which start of the machine this is; empty where the system does not tell."""
    with suppress(OSError):
        return _PROC.joinpath("sys", "kernel", "random", "boot_id").read_text().strip()
    return ""


def end(process: Process, patience: float = 5.0) -> bool:
    """Ask a process to end, and make it when it does not in time. False when it was not there.

    One that leads a group of its own is ended with the group.
    """
    import signal  # most who look at processes end none

    if not is_alive(process):
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, number)
            else:
                os.kill(process.pid, number)
        until = time.monotonic() + patience
        while is_alive(process) and time.monotonic() < until:
            time.sleep(_LOOK_EVERY)
        if not is_alive(process):
            return True
    return True


def _stat(pid: int) -> list[str] | None:
    """What the system tells of a process, from its state on; None when it does not."""
    try:
        with open(f"{_PROC}/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 -- of hundreds
            text = file.read().decode("ascii", "replace")
    except OSError:
        return None
    # The second field, the program's name, may hold spaces and brackets.
    return text.rpartition(")")[2].split()
