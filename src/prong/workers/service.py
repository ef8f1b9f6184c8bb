"""`App.workers`: agents with a name that run in a terminal pane or headless.

Modules are imported at their first use: most commands need few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from prong.agents.stores import AgentStores
from prong.errors import Busy, NotFound, Unsupported
from prong.model.forks import Launch
from prong.model.record import Record
from prong.model.sessions import Program
from prong.model.workers import WorkerInfo, WorkerState, WorkerStatus
from prong.storage.workers import WorkerRecords

if TYPE_CHECKING:
    from prong.code.service import CodeService
    from prong.config import Config
    from prong.forks.service import ForkService
    from prong.session.service import SessionService
    from prong.workers.launch.clone import WorkerCloner
    from prong.workers.launch.fork import WorkerForks
    from prong.workers.launch.plan import WorkerPlanner
    from prong.workers.launch.start import WorkerStarter
    from prong.workers.panes import Terminals
    from prong.workers.prompts import WorkerPrompts
    from prong.workers.states import WorkerStates

SHOWN_FOR = timedelta(days=7)
"""Time that `prong ps` shows a worker that is gone."""
_PATIENCE = 5.0
"""Seconds for an agent to exit when asked to."""
_AT_WORK = {
    WorkerState.BUSY: "is busy",
    WorkerState.WAITING: "is waiting for input",
    WorkerState.UNKNOWN: "may be busy",
}


class WorkerService(Record, frozen=True, dict=True):
    """Records of workers, and what can be done with them: `states`, `prompts`, `starter`, ...

    Stopping, renaming and forgetting change records only: sessions and workspaces always stay.
    """

    records: WorkerRecords
    stores: AgentStores
    sessions: SessionService
    code: CodeService
    fork_service: ForkService
    terminals: Terminals
    settings: Config
    require: Callable[[Program], None]
    """Raises when a program is missing."""
    hooked: Callable[[str, Launch], Launch]
    """Adds prong's hooks to the launch of an agent."""

    # -- what it is made of ------------------------------------------------------------------

    @cached_property
    def states(self) -> WorkerStates:
        from prong.workers.states import WorkerStates

        return WorkerStates(
            self.stores, self.sessions, self.records, self.terminals, self.code.take_in
        )

    @cached_property
    def prompts(self) -> WorkerPrompts:
        from prong.workers.prompts import WorkerPrompts

        return WorkerPrompts(self.stores, self.sessions, self.states, self.hooked)

    @cached_property
    def planner(self) -> WorkerPlanner:
        from prong.workers.launch.plan import WorkerPlanner

        return WorkerPlanner(
            self.stores, self.sessions, self.fork_service, self.records, self.require
        )

    @cached_property
    def starter(self) -> WorkerStarter:
        from prong.workers.launch.start import WorkerStarter

        return WorkerStarter(
            self.stores,
            self.fork_service,
            self.terminals,
            self.states,
            self.prompts,
            self.planner,
            self.hooked,
        )

    @cached_property
    def forks(self) -> WorkerForks:
        from prong.workers.launch.fork import WorkerForks

        return WorkerForks(self.fork_service, self.states, self.prompts, self.starter)

    @cached_property
    def cloner(self) -> WorkerCloner:
        from prong.workers.launch.clone import CloneSources, WorkerCloner

        return WorkerCloner(
            self.stores,
            self.code,
            self.fork_service,
            self.states,
            self.starter,
            CloneSources(self.stores, self.sessions, self.fork_service, self.states),
            self.settings,
        )

    # -- existing workers --------------------------------------------------------------------

    def stop(self, name: str, *, force: bool = False) -> WorkerInfo:
        """Stop a worker. Raises `Busy` when it is busy, unless `force` is set.

        Its process is asked to exit first, so that it can save its state; then its pane is closed.
        A worker that is already gone is only recorded as stopped.
        """
        from prong.processes.process import end

        status, liveness = self.states.glance(name), self.states.liveness
        if status.state in _AT_WORK and not force:
            raise Busy(f"{name} {_AT_WORK[status.state]}", hint=f"prong stop --force {name}")
        worker = status.worker
        runs_in_pane = not liveness.has_ended(worker)
        if worker.process is not None:
            end(worker.process, _PATIENCE)
        if worker.pane is not None and (runs_in_pane or liveness.is_left_behind(worker)):
            with suppress(NotFound):
                self.terminals.of(worker.pane).close(worker.pane)
        return self.records.change(name, stopped=datetime.now(UTC))

    def rename(self, name: str, new: str) -> WorkerInfo:
        """Give a worker another name."""
        from prong.workers import names

        worker = self.records.get(name)
        new = names.checked(new, self.stores)
        return worker if new == name else self.records.rename(name, new)

    def forget(self, name: str) -> None:
        """Remove a worker from the list. Raises `Busy` when it runs."""
        if self.states.glance(name).state is not WorkerState.GONE:
            raise Busy(f"{name} still runs", hint=f"prong stop {name}")
        self.records.remove(name)

    def attach(self, name: str) -> Launch | None:
        """Focus a worker's pane and return None, or return the command that attaches to it."""
        from prong.terminals.base import CanAttach, CanFocus, HasExitCodes

        worker = self.records.get(name)
        if worker.headless:
            raise Unsupported(f"{name} is headless and has no pane", hint=f"prong log -f {name}")
        if worker.pane is None:
            raise NotFound(f"{name} has no pane", hint=f"prong restart {name}")
        terminal = self.terminals.of(worker.pane)
        if self.states.liveness.has_ended(worker):
            # The pane may still show the output of its program; else its id may be another's.
            has_codes = isinstance(terminal, HasExitCodes)
            if not has_codes or terminal.exit_code(worker.pane) is None:
                raise NotFound(f"the pane of {name} was closed", hint=f"prong restart {name}")
        if isinstance(terminal, CanFocus) and (
            terminal.is_here or not isinstance(terminal, CanAttach)
        ):
            terminal.focus(worker.pane)
            return None
        if isinstance(terminal, CanAttach):
            return terminal.attaching(worker.pane)
        raise Unsupported(f"{terminal.name} cannot show a pane", hint=f"look for {name} there")


def recent(found: Iterable[WorkerStatus], now: datetime | None = None) -> list[WorkerStatus]:
    """Filter the workers that `prong ps` shows: running, or gone recently."""
    since = (now or datetime.now(UTC)) - SHOWN_FOR
    return [row for row in found if row.state is not WorkerState.GONE or _last_sign(row) > since]


def _last_sign(status: WorkerStatus) -> datetime:
    worker = status.worker
    times = (status.evidence.time, worker.stopped, worker.started, worker.prompted)
    return max((time for time in times if time is not None), default=worker.created)
