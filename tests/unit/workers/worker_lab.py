"""Workers for tests: a stand-in agent in panes of a private tmux, recorded as prong does it."""

from __future__ import annotations

import json
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from prong.app import App
from prong.hook import spool
from prong.model.forks import Launch
from prong.model.workers import Placement, WorkerInfo, WorkerState
from prong.processes.process import process_of
from prong.testing.home import IsolatedHome
from tests.terminals.tmux_lab import TmuxLab

PROGRAM = Path(__file__).with_name("stand_in_agent.py")
PATIENCE = 20.0


class WorkerLab:
    """An application with a state of its own, and a tmux that nobody else sees."""

    def __init__(self, home: IsolatedHome, tmux: TmuxLab) -> None:
        self.home = home
        self.tmux = tmux
        self.app = App()
        self.folder = home.projects / "shop"
        self.folder.mkdir(parents=True, exist_ok=True)

    def start(self, name: str, *arguments: str, prompt: str | None = None) -> WorkerInfo:
        """A stand-in agent in a pane, as a worker."""
        id_ = str(uuid.uuid4())
        argv = (sys.executable, str(PROGRAM), str(self.home.claude), "--id", id_, *arguments)
        argv += ("--prompt", prompt) if prompt else ()
        now = datetime.now(UTC)
        terminal = self.app.terminals.named("tmux")
        pane = terminal.open(Launch(argv, self.folder, title=name), Placement.WINDOW)
        live = terminal.alive([pane])[pane]
        assert live.pid is not None
        worker = WorkerInfo(
            name=name,
            agent="claude",
            workspace=self.folder,
            command="claude",
            created=now,
            session=id_,
            pane=pane,
            process=process_of(live.pid),
            started=now,
            prompted=now if prompt else None,
            commanded=bool(prompt and prompt.startswith("/")),
        )
        self.app.workers.records.add(worker)
        return worker

    def idle(self, name: str, *arguments: str) -> WorkerInfo:
        """One that has started and waits for a prompt."""
        worker = self.start(name, *arguments)
        self.until(name, WorkerState.IDLE)
        return worker

    def state(self, name: str) -> WorkerState:
        return self.app.workers.states.status(name).state

    def until(self, name: str, state: WorkerState) -> None:
        until(lambda: self.state(name) is state, f"{name} to be {state}")

    def hook(self, worker: WorkerInfo, event: str, state: str | None, **fields: Any) -> None:
        """What `prong-hook` would write."""
        line: dict[str, Any] = {"time": datetime.now(UTC).isoformat(), "agent": worker.agent}
        line |= {"session": worker.session, "event": event, "state": state, "worker": worker.name}
        spool.append({**line, **fields}, self.app.state_dir / "spool")

    def screen(self, worker: WorkerInfo) -> str:
        assert worker.pane is not None
        return self.tmux.tmux("capture-pane", "-p", "-t", worker.pane.id)


def until(wanted: Callable[[], bool], what: str = "it") -> None:
    end = time.monotonic() + PATIENCE
    while not wanted():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


@contextmanager
def worker_lab(home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> Generator[WorkerLab]:
    with tempfile.TemporaryDirectory() as short, TmuxLab(Path(short)) as tmux:
        monkeypatch.setenv("PRONG_TMUX_SOCKET", tmux.socket)
        lab = WorkerLab(home, tmux)
        trust = {"projects": {str(lab.folder): {"hasTrustDialogAccepted": True}}}
        (home.root / ".claude.json").write_text(json.dumps(trust))
        with lab.app:
            yield lab
