"""Headless workers: one detached process per turn, with its output in a file.

Nothing supervises them, so nothing is lost when prong exits. The process tells whether a turn is
over; the last event that it printed tells how it ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.run import environment
from prong.errors import Busy, NotFound, Unavailable
from prong.model.record import replace
from prong.model.workers import NewSession, Route, WorkerInfo
from prong.paths import private_dir
from prong.processes.process import is_alive, process_of
from prong.workers import lock
from prong.workers.launch import environment as worker_environment
from prong.workers.send import literal
from prong.workers.state import Lookout

if TYPE_CHECKING:
    from prong.agents.headless import TurnOutput
    from prong.app import App

_TURN = "prong.turn"
"""Type of the marker line before each turn."""
_children: list[subprocess.Popen[bytes]] = []
"""Polled so that ended children do not stay zombies."""


def log_file(app: App, name: str) -> Path:
    """Return a new log file for a worker; a later worker of the same name gets another."""
    now = f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"
    return private_dir(app.state_dir / "workers") / f"{name}-{now}.jsonl"


def turn(
    app: App,
    worker: WorkerInfo,
    text: str,
    env: Mapping[str, str] | None = None,
    *,
    as_command: bool = False,
) -> WorkerInfo:
    """Start the next turn and return once its process runs. Raises `Busy` during another turn.

    `env` applies to this turn only.
    """
    text = text if as_command else literal(app, worker, text, Route.STDIN)
    with lock.alone(app, worker.name):
        # Another sender may have been faster, and only the output may tell the session id.
        worker = Lookout(app).look([app.workers.named(worker.name)])[0].worker
        if worker.process is not None and is_alive(worker.process):
            raise Busy(f"{worker.name} is busy", hint=f"prong wait {worker.name}")
        return _started(app, worker, text, env)


def _started(app: App, worker: WorkerInfo, text: str, env: Mapping[str, str] | None) -> WorkerInfo:
    if not worker.workspace.is_dir():
        hint = f"prong fork {worker.name} --into DIR uses another folder"
        raise NotFound(
            f"the folder of {worker.name} no longer exists: {worker.workspace}", hint=hint
        )
    store = app.store(worker.agent).with_command(worker.command)
    session = NewSession(worker.session, worker.workspace)
    resume = (
        worker.session is not None
        and app.sessions.path_of(worker.agent, worker.session) is not None
    )
    launch = store.headless(session, resume=resume)
    marks = worker_environment.marked(
        worker.name, commit_turns=worker.commit_turns, push=worker.push
    )
    shell = worker_environment.carried(os.environ)
    env_vars = {**shell, **worker.env, **launch.env, **(env or {}), **marks}
    launch = replace(launch, env=env_vars)
    launch = app.setup.hooks.for_one_run(worker.agent, launch)
    log = worker.log or log_file(app, worker.name)
    now = datetime.now(UTC)
    mark = json.dumps({"type": _TURN, "time": now.isoformat()})
    _children[:] = [process for process in _children if process.poll() is None]
    with (
        tempfile.TemporaryFile() as prompt,
        os.fdopen(os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600), "ab") as output,
    ):
        prompt.write(text.encode("utf-8", "surrogateescape"))
        prompt.seek(0)
        output.write(f"{mark}\n".encode())
        output.flush()
        try:
            child = subprocess.Popen(
                launch.argv,
                cwd=launch.cwd,
                env=environment(launch),
                stdin=prompt,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        except OSError as error:
            message = f"{launch.argv[0]} does not start: {error.strerror}"
            raise Unavailable(message, hint="prong doctor") from None
    _children.append(child)
    try:
        return app.workers.records.change(
            worker.name,
            process=process_of(child.pid),
            log=log,
            started=now,
            prompted=now,
            stopped=None,
        )
    except BaseException:
        child.kill()  # otherwise an unrecorded process would run
        raise


def run_of(worker: WorkerInfo) -> str | None:
    """Return the id of a worker's last run, as marked in its output."""
    return worker.started.astimezone(UTC).isoformat() if worker.started else None


def events(app: App, worker: WorkerInfo, run: str | None = None) -> TurnOutput:
    """Parse the output of a run so far; of the last one by default."""
    return app.store(worker.agent).headless_events(_turn(worker.log, run))


def complaints(worker: WorkerInfo) -> str:
    """Return the non-JSON output of the last turn."""
    lines = [line for line in _turn(worker.log) if not line.startswith("{")]
    return "\n".join(lines[-20:])


def _turn(log: Path | None, run: str | None = None) -> Iterator[str]:
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
