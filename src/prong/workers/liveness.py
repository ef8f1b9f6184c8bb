"""Liveness of workers, from their processes and one query per terminal.

A worker that ended is gone, whatever other evidence says. A process or pane id may be reused after
a restart of the machine or of the terminal, and is then not the worker's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from prong.agents.stores import AgentStores
from prong.errors import ProngError
from prong.log import debug
from prong.model.record import Record
from prong.model.workers import Evidence, LivePane, Pane, WorkerInfo, WorkerState
from prong.processes.process import is_alive
from prong.workers import headless
from prong.workers.panes import Terminals

_RESERVED = timedelta(seconds=60)
"""Time that a name is reserved for a worker that is being started."""


class Life(Record, frozen=True):
    certain: Evidence | None
    """Final evidence, if nothing else needs to be checked."""
    pid: int | None = None
    """Id of its running process, if known."""


class Liveness(Record, frozen=True):
    """Checks of processes and panes."""

    stores: AgentStores
    terminals: Terminals

    def lives(self, workers: Sequence[WorkerInfo]) -> dict[str, Life]:
        results = {worker.name: self._without_terminal(worker) for worker in workers}
        panes: dict[str, list[Pane]] = defaultdict(list)
        for worker in workers:
            # No query is needed for a process that has ended, and none is possible for the pane
            # of a command that a person types.
            if results[worker.name].certain is None and worker.pane is not None and worker.pane.id:
                panes[worker.pane.terminal].append(worker.pane)
        alive: dict[Pane, LivePane | None] = {}
        for terminal, queried in panes.items():
            try:
                living = self.terminals.of(queried[0]).alive(queried)
            except ProngError as error:
                # Fall back to the process alone.
                debug(__name__, "%s does not tell of its panes: %s", terminal, error)
            else:
                alive |= {pane: living.get(pane) for pane in queried}
        for worker in workers:
            if results[worker.name].certain is None and worker.pane in alive:
                results[worker.name] = _in_pane(worker, alive[worker.pane])
        return results

    def has_ended(self, worker: WorkerInfo) -> bool:
        """Return whether its program ended, or its pane belongs to another one."""
        return self.lives([worker])[worker.name].certain is not None

    def is_left_behind(self, worker: WorkerInfo) -> bool:
        """Return whether a pane only shows the output of a program that ended."""
        if worker.pane is None:
            return False
        try:
            live = self.terminals.of(worker.pane).alive([worker.pane]).get(worker.pane)
        except ProngError:
            return False
        return live is None and (worker.process is None or not is_alive(worker.process))

    def _without_terminal(self, worker: WorkerInfo) -> Life:
        if worker.stopped is not None:
            return Life(Evidence(WorkerState.GONE, "record", worker.stopped, "stopped"))
        process = worker.process
        if worker.headless and process is None and worker.started is not None:
            # A fork or clone without a prompt yet.
            return Life(Evidence(WorkerState.IDLE, "record", worker.started))
        if process is None and worker.pane is None:
            is_new = datetime.now(UTC) - worker.created < _RESERVED
            state = WorkerState.STARTING if is_new else WorkerState.GONE
            return Life(Evidence(state, "record", worker.created))
        if process is None:
            return Life(None)
        if is_alive(process):
            running = Evidence(WorkerState.BUSY, "process", worker.started)
            return Life(running if worker.headless else None, process.pid)
        if worker.headless:
            return Life(self._headless_end(worker))
        return Life(Evidence(WorkerState.GONE, "process"))

    def _headless_end(self, worker: WorkerInfo) -> Evidence:
        """Return how the last turn ended; one without an end event was killed."""
        try:
            # Read the run that ended: the next one may have begun since this record was read.
            events = headless.events(self.stores, worker, headless.run_of(worker))
        except ProngError as error:
            # Its agent was a plug-in that is no longer installed.
            debug(__name__, "cannot read the output of %s: %s", worker.name, error)
            return Evidence(WorkerState.UNKNOWN, "log")
        written = None
        if worker.log is not None and worker.log.exists():
            written = datetime.fromtimestamp(worker.log.stat().st_mtime, UTC)
        state = WorkerState.IDLE if events.is_over else WorkerState.GONE
        return Evidence(state, "log", written, events.error)


def _in_pane(worker: WorkerInfo, live: LivePane | None) -> Life:
    process = worker.process
    if live is None:
        return Life(Evidence(WorkerState.GONE, "pane"))
    if process is not None and live.pid not in (None, process.pid):
        # The terminal was restarted and reuses pane ids.
        return Life(Evidence(WorkerState.GONE, "pane", None, "the pane has another program"))
    return Life(None, process.pid if process is not None else live.pid)
