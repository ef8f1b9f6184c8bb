"""Workers for tests of one process: a stand-in agent in a tmux of its own."""

import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from prong.app import App
from prong.model.workers import WorkerInfo, WorkerState
from prong.testing.home import IsolatedHome
from prong.workers.request import WorkerRequest
from tests.cli import worker_lab
from tests.cli.shell import Shell
from tests.cli.worker_lab import WorkerLab

PATIENCE = 20.0


def opened_lab(home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> Generator[WorkerLab]:
    monkeypatch.chdir(home.root)
    with worker_lab.made(Shell(home), monkeypatch) as made:
        yield made


def at_rest(app: App, name: str) -> None:
    # A folder that the agent does not know yet looks like a dialog until it has started.
    app.workers.states.wait([name], timeout=PATIENCE, until=[WorkerState.IDLE])


def started(app: App, lab: WorkerLab, name: str = "source", **more: Any) -> WorkerInfo:
    more.setdefault("project", lab.project)
    options = WorkerRequest(name=name, **more)
    app.workers.starter.start(app.workers.planner.plan(options))
    at_rest(app, name)
    return app.workers.records.get(name)


def asked(app: App, name: str, text: str) -> None:
    """Give it a prompt, and wait for the answer."""
    at_rest(app, name)
    turn = app.workers.states.status(name).turn or 0
    app.workers.prompts.send(name, text)
    until(lambda: (app.workers.states.status(name).turn or 0) > turn)
    at_rest(app, name)


def held(app: App, worker: WorkerInfo, text: str) -> Path:
    """Give it a prompt that it works on as long as there is the file."""
    at_rest(app, worker.name)
    hold = worker.workspace / "hold"
    hold.touch()
    app.workers.prompts.send(worker.name, text)
    until(lambda: app.workers.states.status(worker.name).state is WorkerState.BUSY)
    return hold


def until(is_so: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def prompts(app: App, worker: WorkerInfo) -> list[str]:
    return [turn.prompt for turn in app.sessions.turns(f"{worker.agent}:{worker.session}")]


def made_by_prong(app: App) -> list[Path]:
    """The workspaces in the managed root."""
    root = app.worktrees_root
    return [path for path in sorted(root.glob("*/*")) if path.parent.name != ".prong"]
