"""Processes of this machine: liveness, relatives, locks and termination.

The system reuses process ids, so a process is identified by its start time, too. psutil is imported
inside functions: that takes 10 ms, and most commands do not need it.
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
    return Process(pid, _start(pid))


def is_alive(process: Process) -> bool:
    """Whether the process still runs; False for zombies, and when the id was reused."""
    start = _start(process.pid)
    if start is None or process.started is None:
        return start is not None
    if "@" in process.started:
        return process.started == start
    # Claude Code records only the ticks, and another format on macOS.
    ticks, _, boot = start.partition("@")
    return not boot or process.started == ticks


def _start(pid: int) -> str | None:
    """Return a process's start time and boot id; None if it has ended.

    Linux counts ticks since boot, which changing the clock does not affect but which can repeat
    after a reboot. macOS stores the time itself.
    """
    import psutil

    if pid <= 0:
        return None  # `kill` takes these for process groups
    info = facts(pid, "create_time", "status")
    if info.get("status") in (None, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
        return None
    began: float = info["create_time"]
    with suppress(OSError):
        boot = _BOOT_ID.read_text().strip()
        return f"{round((began - psutil.boot_time()) * os.sysconf('SC_CLK_TCK'))}@{boot}"
    return f"{began}@"


def end(process: Process, patience: float = 5.0) -> bool:
    """Terminate a process with its group, in the end by force; False if it was not running."""
    import signal  # most callers terminate nothing

    if not is_alive(process):
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(process.pid) == process.pid:
                os.killpg(process.pid, number)
            else:
                os.kill(process.pid, number)
        deadline = time.monotonic() + patience
        while is_alive(process) and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY)
        if not is_alive(process):
            return True
    return True


def facts(pid: int, *names: str) -> dict[str, Any]:
    """Return psutil attributes of a process; empty if it has ended."""
    import psutil

    with suppress(psutil.Error, ValueError):
        return psutil.Process(pid).as_dict(names)  # pyright: ignore[reportUnknownMemberType]
    return {}


def running(*names: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield psutil attributes of every other process; None where access is denied."""
    import psutil

    for process in psutil.process_iter(names):
        if process.pid != os.getpid():
            yield process.pid, process.info


def ancestors(pid: int) -> Iterator[int]:
    """Yield the ancestors of a process, nearest first."""
    while pid := facts(pid, "ppid").get("ppid", 0):
        yield pid


def descendants(pids: Iterable[int]) -> dict[int, list[int]]:
    """Return the descendants of each process, children first."""
    children: dict[int, list[int]] = defaultdict(list)
    for pid, info in running("ppid"):
        children[info["ppid"]].append(pid)
    relatives = {pid: children[pid].copy() for pid in pids}
    for below in relatives.values():
        for pid in below:
            below += [child for child in children[pid] if child not in below]
    return relatives


def locks() -> list[tuple[int, int]] | None:
    """Return inode and owner of all locked files, which psutil cannot tell; None if unknown."""
    try:
        rows = [line.split() for line in _LOCKS.read_text().splitlines()]
    except OSError:
        return None
    # A process waiting for a lock has `->` before the kind.
    return [(int(row[5].rpartition(":")[2]), int(row[4])) for row in rows if row[1] == "FLOCK"]
