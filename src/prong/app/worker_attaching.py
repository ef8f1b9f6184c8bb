"""Bringing a person to a worker's pane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prong.app import worker_liveness
from prong.errors import NotFound, Unsupported
from prong.model import Launch
from prong.worker import WorkerInfo
from prong.worker_ports import CanAttach, CanFocus, HasExitCodes, Terminal

if TYPE_CHECKING:
    from prong.app.application import App


def attach(app: App, worker: WorkerInfo) -> Launch | None:
    """Focus the pane where one is in the same terminal; else the command that shows it."""
    if worker.headless:
        hint = f"prong log -f {worker.name}"
        raise Unsupported(f"{worker.name} is headless and has no pane", hint=hint)
    if worker.pane is None:
        raise NotFound(f"{worker.name} has no pane", hint=f"prong restart {worker.name}")
    terminal = app.terminals.of(worker.pane)
    is_over = worker_liveness.lives(app, [worker])[worker.name].certain is not None
    if is_over and not _shows_its_end(terminal, worker):
        # Its number may be that of another pane by now.
        raise NotFound(f"the pane of {worker.name} was closed", hint=f"prong restart {worker.name}")
    if terminal.is_here and isinstance(terminal, CanFocus):
        terminal.focus(worker.pane)
        return None
    if isinstance(terminal, CanAttach):
        return terminal.attaching(worker.pane)
    if isinstance(terminal, CanFocus):
        terminal.focus(worker.pane)
        return None
    raise Unsupported(f"{terminal.name} cannot show a pane", hint=f"look for {worker.name} there")


def _shows_its_end(terminal: Terminal, worker: WorkerInfo) -> bool:
    """True for a pane that still has the last words of a program that ended."""
    assert worker.pane is not None
    return isinstance(terminal, HasExitCodes) and terminal.exit_code(worker.pane) is not None
