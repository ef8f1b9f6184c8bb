"""Stop, rename, forget and attach to workers. Their sessions and workspaces always stay.

`prong ps` hides workers that have been gone for a week, and `forget` removes one from the list.
Only records are removed here, never a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from prong.errors import Busy, NotFound, Unsupported
from prong.model.forks import Launch
from prong.model.workers import WorkerInfo, WorkerState, WorkerStatus
from prong.processes.process import end
from prong.terminals.base import CanAttach, CanFocus, HasExitCodes, Terminal
from prong.workers import liveness, names
from prong.workers.state import Lookout

if TYPE_CHECKING:
    from prong.app import App


SHOWN_FOR = timedelta(days=7)
"""Time that `prong ps` shows a worker that is gone."""
_PATIENCE = 5.0
"""Seconds for an agent to exit when asked to."""
_AT_WORK = {
    WorkerState.BUSY: "is busy",
    WorkerState.WAITING: "is waiting for input",
    WorkerState.UNKNOWN: "may be busy",
}


def stop(app: App, worker: WorkerInfo, *, force: bool = False) -> WorkerInfo:
    """Stop a worker. Raises `Busy` when it is busy, unless `force` is set.

    Its process is asked to exit first, so that it can save its state; then its pane is closed. A
    worker that is already gone is only recorded as stopped.
    """
    status = Lookout(app).look([worker])[0]
    if status.state in _AT_WORK and not force:
        raise Busy(
            f"{worker.name} {_AT_WORK[status.state]}", hint=f"prong stop --force {worker.name}"
        )
    worker = status.worker
    runs_in_pane = liveness.lives(app, [worker])[worker.name].certain is None
    if worker.process is not None:
        end(worker.process, _PATIENCE)
    if worker.pane is not None and (runs_in_pane or liveness.is_left_behind(app, worker)):
        with suppress(NotFound):
            app.terminals.of(worker.pane).close(worker.pane)
    return app.workers.records.change(worker.name, stopped=datetime.now(UTC))


def rename(app: App, worker: WorkerInfo, new: str) -> WorkerInfo:
    new = names.checked(new, app.stores)
    return worker if new == worker.name else app.workers.records.rename(worker.name, new)


def forget(app: App, worker: WorkerInfo) -> None:
    """Remove a worker from the list. Raises `Busy` when it runs."""
    if Lookout(app).look([worker])[0].state is not WorkerState.GONE:
        raise Busy(f"{worker.name} still runs", hint=f"prong stop {worker.name}")
    app.workers.records.remove(worker.name)


def recent(found: Iterable[WorkerStatus], now: datetime | None = None) -> list[WorkerStatus]:
    """Filter the workers that `prong ps` shows: running, or gone recently."""
    since = (now or datetime.now(UTC)) - SHOWN_FOR
    return [row for row in found if row.state is not WorkerState.GONE or _last_sign(row) > since]


def _last_sign(status: WorkerStatus) -> datetime:
    worker = status.worker
    times = (status.evidence.time, worker.stopped, worker.started, worker.prompted)
    return max((time for time in times if time is not None), default=worker.created)


def attach(app: App, worker: WorkerInfo) -> Launch | None:
    """Focus the pane if possible; otherwise return the command that attaches to it."""
    if worker.headless:
        hint = f"prong log -f {worker.name}"
        raise Unsupported(f"{worker.name} is headless and has no pane", hint=hint)
    if worker.pane is None:
        raise NotFound(f"{worker.name} has no pane", hint=f"prong restart {worker.name}")
    terminal = app.terminals.of(worker.pane)
    is_over = liveness.lives(app, [worker])[worker.name].certain is not None
    if is_over and not _shows_its_end(terminal, worker):
        # The pane id may belong to another pane by now.
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
    """Return whether the pane still shows the output of a program that ended."""
    assert worker.pane is not None
    return isinstance(terminal, HasExitCodes) and terminal.exit_code(worker.pane) is not None
