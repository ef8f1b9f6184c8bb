"""Readiness of a worker: its agent must report a session; a pane is not enough."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from prong.errors import External, ProngError
from prong.model.workers import WorkerInfo, WorkerState, WorkerStatus
from prong.terminals.base import CanCapture, HasExitCodes
from prong.workers import headless
from prong.workers.evidence import ENDING

if TYPE_CHECKING:
    from prong.app import App

_LOOK_EVERY = 0.05
_SHOWN_LINES = 15
_DEAD_PANE = "Pane is dead"
"""Line that tmux prints after the output of a program that ended."""


def ready(
    app: App,
    name: str,
    timeout: float,
    told: Callable[[WorkerStatus], None] = lambda _: None,
) -> WorkerStatus:
    """Wait until the agent of a worker reports an open session.

    Raises `External` when its program ended instead. A worker that waits in a dialog, or that
    reports nothing in time, is returned with that state.
    """
    until = time.monotonic() + timeout
    while True:
        status = app.workers.status(name)
        if status.state is WorkerState.GONE and not status.worker.headless:
            raise _failed(app, status.worker)
        if status.worker.headless and status.evidence.source == "log":
            _refuse_failed_turn(app, status)
        is_open = status.state not in (WorkerState.STARTING, WorkerState.UNKNOWN)
        is_open = is_open and status.evidence.detail != ENDING
        # An agent that chooses its own ids has none before a person has answered.
        is_known = status.worker.session or status.state is WorkerState.WAITING
        if (is_open and is_known) or time.monotonic() > until:
            return status
        told(status)
        time.sleep(_LOOK_EVERY)


def _refuse_failed_turn(app: App, status: WorkerStatus) -> None:
    error = headless.events(app, status.worker).error
    if error is not None:
        complaint = headless.complaints(status.worker)
        raise External(
            f"{status.worker.agent} did not start: {error}",
            hint=f"prong log {status.worker.name}",
            stderr=complaint,
        )


def _failed(app: App, worker: WorkerInfo) -> External:
    """Build an error from the last output of the program."""
    screen, code = "", None
    if worker.pane is not None:
        with suppress(ProngError):
            terminal = app.terminals.of(worker.pane)
            if isinstance(terminal, CanCapture):
                screen = terminal.capture(worker.pane, history=True)
            if isinstance(terminal, HasExitCodes):
                code = terminal.exit_code(worker.pane)
    lines = [line.rstrip() for line in screen.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(_DEAD_PANE)]
    error_lines = [line for line in lines if "error" in line.lower()]
    last = (error_lines or lines or ["it printed nothing"])[-1].strip()
    status = f" with status {code}" if code is not None else ""
    return External(
        f"{worker.agent} ended immediately{status}: {last}",
        hint=f"prong restart {worker.name}, or: prong doctor",
        worker=worker.name,
        status=code,
        screen="\n".join(lines[-_SHOWN_LINES:]),
    )
