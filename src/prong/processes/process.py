"""Processes of this machine: whether one still runs, its relatives, what it has open; ending it.

The number of a process is used again by the system, so the time of its start belongs to it. psutil
asks the system, and is imported in functions: that takes 10 ms, and most commands need none of it.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from prong.model.workers import Process

_LOCKS = Path("/proc/locks")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_LOOK_EVERY = 0.02


def process_of(pid: int) -> Process:
    """The process that has this number now."""
    return Process(pid, _start(pid))


def is_alive(process: Process) -> bool:
    """False also for another process that has got the number since, and for a zombie."""
    start = _start(process.pid)
    if start is None or process.started is None:
        return start is not None
    if "@" in process.started:
        return process.started == start
    # Claude Code knows the ticks alone, and on macOS something else.
    ticks, _, boot = start.partition("@")
    return not boot or process.started == ticks


def _start(pid: int) -> str | None:
    """When a process began, and in which run of the machine; None when it has ended.

    Linux counts ticks since the machine started, which setting the clock does not change. They may
    be the same after a reboot. macOS remembers the time itself.
    """
    import psutil

    if pid <= 0:
        return None  # to `kill` these are groups of processes
    found = facts(pid, "create_time", "status")
    if found.get("status") in (None, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
        return None
    began: float = found["create_time"]
    with suppress(OSError):
        boot = _BOOT_ID.read_text().strip()
        return f"{round((began - psutil.boot_time()) * os.sysconf('SC_CLK_TCK'))}@{boot}"
    return f"{began}@"


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


def facts(pid: int, *names: str) -> dict[str, Any]:
    """What psutil tells of a process under these names; nothing when it has ended."""
    import psutil

    with suppress(psutil.Error, ValueError):
        return psutil.Process(pid).as_dict(names)  # pyright: ignore[reportUnknownMemberType]
    return {}


def running(*names: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """What psutil tells of every other process; None stands for what is kept from us."""
    import psutil

    for process in psutil.process_iter(names):
        if process.pid != os.getpid():
            yield process.pid, process.info


def ancestors(pid: int) -> Iterator[int]:
    """The processes above one, the nearest first."""
    while pid := facts(pid, "ppid").get("ppid", 0):
        yield pid


def descendants(pids: Iterable[int]) -> dict[int, list[int]]:
    """The processes below each of these: its children, then theirs."""
    children: dict[int, list[int]] = defaultdict(list)
    for pid, one in running("ppid"):
        children[one["ppid"]].append(pid)
    found = {pid: children[pid].copy() for pid in pids}
    for below in found.values():
        for pid in below:
            below += [child for child in children[pid] if child not in below]
    return found


def locks() -> list[tuple[int, int]] | None:
    """All files that are locked now, by inode, and who holds each; None where no system tells.

    psutil knows of no locks.
    """
    try:
        rows = [line.split() for line in _LOCKS.read_text().splitlines()]
    except OSError:
        return None
    # One that waits for a lock has `->` before the kind.
    return [(int(row[5].rpartition(":")[2]), int(row[4])) for row in rows if row[1] == "FLOCK"]
