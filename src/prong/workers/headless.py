"""Headless workers: one detached process per turn, with its output in a file.

Nothing supervises them, so nothing is lost when prong exits. The process tells whether a turn is
over; the last event that it printed tells how it ended.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.run import environment
from prong.agents.stores import AgentStores
from prong.errors import Unavailable
from prong.model.forks import Launch
from prong.model.workers import WorkerInfo

if TYPE_CHECKING:
    from prong.agents.headless import TurnOutput

_TURN = "prong.turn"
"""Type of the marker line before each turn."""
_children: list[subprocess.Popen[bytes]] = []
"""Polled so that ended children do not stay zombies."""


def spawn(launch: Launch, prompt: str, log: Path, started: datetime) -> subprocess.Popen[bytes]:
    """Start the process of a turn, with its output added to the log."""
    import tempfile

    mark = json.dumps({"type": _TURN, "time": started.isoformat()})
    _children[:] = [process for process in _children if process.poll() is None]
    with (
        tempfile.TemporaryFile() as stdin,
        os.fdopen(os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600), "ab") as output,
    ):
        stdin.write(prompt.encode("utf-8", "surrogateescape"))
        stdin.seek(0)
        output.write(f"{mark}\n".encode())
        output.flush()
        try:
            child = subprocess.Popen(
                launch.argv,
                cwd=launch.cwd,
                env=environment(launch),
                stdin=stdin,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except OSError as error:
            message = f"{launch.argv[0]} does not start: {error.strerror}"
            raise Unavailable(message, hint="prong doctor") from None
    _children.append(child)
    return child


def run_of(worker: WorkerInfo) -> str | None:
    """Return the id of a worker's last run, as marked in its output."""
    return worker.started.astimezone(UTC).isoformat() if worker.started else None


def events(stores: AgentStores, worker: WorkerInfo, run: str | None = None) -> TurnOutput:
    """Parse the output of a run so far; of the last one by default."""
    return stores.named(worker.agent).headless_events(_lines(worker.log, run))


def complaints(worker: WorkerInfo) -> str:
    """Return the non-JSON output of the last turn."""
    lines = [line for line in _lines(worker.log) if not line.startswith("{")]
    return "\n".join(lines[-20:])


def _lines(log: Path | None, run: str | None = None) -> Iterator[str]:
    """Iterate over the output lines of a run, or of the last one."""
    try:
        content = log.read_bytes() if log else b""
    except OSError:
        return
    mark = f'{{"type": "{_TURN}"'
    start = content.rfind(f'{mark}, "time": "{run}"'.encode()) if run else -1
    start = start if start >= 0 else content.rfind(mark.encode())
    end = content.find(mark.encode(), start + 1) if start >= 0 else -1
    for line in content[max(0, start) : end if end >= 0 else None].split(b"\n")[start >= 0 :]:
        if line:
            yield line.decode("utf-8", "replace")
