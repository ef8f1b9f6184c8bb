"""A daemon in a process of its own, and workers that are as real as they need be for it.

A worker here is a recorded one whose program is `sleep`; what its hooks would tell is written to
the spool. How real agents tell it is shown in tests/e2e.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar
from uuid import uuid4

from prong.app import App
from prong.hook import spool
from prong.model.record import replace
from prong.model.workers import WorkerInfo
from prong.processes.process import process_of
from prong.testing.home import IsolatedHome
from prong.workers.daemon import Daemon
from prong.workers.daemon_socket import Connection
from tests.interrupts import unmeasured

T = TypeVar("T")

_SERVE = """
import logging, sys
from prong.app import App
from prong.errors import ProngError
from prong.serve.server import run
try:
    app = App()
    run(app.settings, app.terminals, app.state_dir, lambda path: print(path, flush=True))
except ProngError as error:
    sys.exit(error.message)
"""


@dataclass
class Lab:
    """Starts daemons and workers in a throw-away home; `end` ends them all."""

    home: IsolatedHome
    processes: list[subprocess.Popen[str]] = field(default_factory=list[subprocess.Popen[str]])

    @property
    def state(self) -> Path:
        return Path(os.environ["XDG_STATE_HOME"]) / "prong"

    @property
    def daemon(self) -> Daemon:
        return Daemon(self.state)

    def serve(self, *, wait: bool = True) -> subprocess.Popen[str]:
        """A daemon, ready."""
        environ = unmeasured({**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        process = subprocess.Popen(
            [sys.executable, "-c", _SERVE],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        if wait:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == str(self.daemon.path)
        return process

    def worker(self, name: str, **fields: Any) -> WorkerInfo:
        """A recorded worker whose program runs."""
        program = subprocess.Popen(["sleep", "600"], text=True)
        self.processes.append(program)
        now = datetime.now(UTC)
        worker = WorkerInfo(
            name=name,
            agent="claude",
            workspace=self.home.projects,
            command=("claude",),
            created=now,
            started=now,
            session=str(uuid4()),
            process=process_of(program.pid),
        )
        worker = replace(worker, **fields)
        with App() as app:
            app.workers.records.add(worker)
        return worker

    def tell(self, worker: WorkerInfo, event: str, state: str | None) -> float:
        """What a hook of the worker tells; when it did."""
        spool.append(
            {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "agent": worker.agent,
                "session": worker.session,
                "worker": worker.name,
                "event": event,
                "detail": None,
                "state": state,
            }
        )
        return time.monotonic()

    def kill(self, worker: WorkerInfo) -> None:
        """End the program of a worker."""
        assert worker.process is not None
        (program,) = [one for one in self.processes if one.pid == worker.process.pid]
        program.kill()
        program.wait()

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            _, said = process.communicate()
            if said:
                print(said)  # noqa: T201 -- shown when a test fails


@dataclass
class Heard:
    """The events of a daemon, with the moments in which they came."""

    events: list[tuple[float, dict[str, Any]]] = field(
        default_factory=list[tuple[float, dict[str, Any]]]
    )

    def wait(self, event: str, timeout: float = 10, **fields: Any) -> dict[str, Any]:
        """The first event of that kind with these fields."""
        return self.moment(event, timeout, **fields)[1]

    def moment(
        self, event: str, timeout: float = 10, **fields: Any
    ) -> tuple[float, dict[str, Any]]:
        wanted = {"event": event, **fields}

        def found() -> tuple[float, dict[str, Any]] | None:
            for at, one in list(self.events):
                if wanted.items() <= one.items():
                    return at, one
            return None

        return until(found, timeout, lambda: f"{wanted} is not among {self.events}")

    @property
    def names(self) -> list[str]:
        return [one["event"] for _, one in self.events]


def _events(daemon: Daemon) -> Iterator[dict[str, Any]]:
    with Connection(daemon.path, timeout=60) as connection:
        connection.request("GET", "/events")
        for line in connection.getresponse():
            if line.strip():
                yield json.loads(line)


@contextmanager
def listening(daemon: Daemon) -> Generator[Heard]:
    """Everything that a daemon tells, until the block ends."""
    heard = Heard()
    events = _events(daemon)
    heard.events.append((time.monotonic(), next(events)))

    def listen() -> None:
        try:
            for event in events:
                heard.events.append((time.monotonic(), event))
        except (OSError, ValueError):
            pass

    Thread(target=listen, daemon=True).start()
    yield heard


def until(
    look: Callable[[], T | None], timeout: float = 10, told: Callable[[], str] = lambda: ""
) -> T:
    end = time.monotonic() + timeout
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < end, told()
        time.sleep(0.01)
