"""Status of workers: looks at them, waits for them, and adds the last words of their sessions."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from math import inf
from pathlib import Path

from prong.agents.stores import AgentStores
from prong.errors import Busy, External, ProngError, Unavailable, Unsupported
from prong.log import debug
from prong.model.record import Record, replace
from prong.model.sessions import Session, SessionRef
from prong.model.workers import Pane, WorkerInfo, WorkerState, WorkerStatus
from prong.session.service import SessionService
from prong.storage.workers import WorkerRecords
from prong.terminals.base import CanCapture, HasExitCodes, Terminal
from prong.transcripts.acknowledgement import acknowledges_seed
from prong.workers import headless, push
from prong.workers.daemon import Daemon
from prong.workers.evidence import ENDING
from prong.workers.liveness import Liveness
from prong.workers.panes import Terminals
from prong.workers.state import Lookout

ENDS = frozenset({WorkerState.IDLE, WorkerState.WAITING, WorkerState.GONE})
"""States that end a wait: nothing more happens without a person."""
_AFTER_A_WORD = 0.02
_LOOK_EVERY = 0.25
_START_EVERY = 0.05
_SHOWN_LINES = 15
_DEAD_PANE = "Pane is dead"
"""Line that tmux prints after the output of a program that ended."""
_MUCH = 1 << 18
"""Bytes in the spool above which it is imported instead of read again each time."""


class WorkerStates(Record, frozen=True, dict=True):
    stores: AgentStores
    sessions: SessionService
    records: WorkerRecords
    terminals: Terminals
    import_events: Callable[[], object]
    """Takes in the hook events of the spool."""

    @cached_property
    def liveness(self) -> Liveness:
        return Liveness(self.stores, self.terminals)

    def lookout(self) -> Lookout:
        return Lookout(self.stores, self.sessions, self.records, self.liveness)

    def all(self) -> list[WorkerStatus]:
        """List all recorded workers with their status, oldest first."""
        return self._statuses(self.records.all())

    def status(self, name: str) -> WorkerStatus:
        """Find out what one worker does."""
        return self._statuses([self.records.get(name)])[0]

    def glance(self, name: str) -> WorkerStatus:
        """Find out what one worker does, without the last words of its session."""
        return self.lookout().look([self.records.get(name)])[0]

    def current(self, name: str) -> WorkerInfo | None:
        """Return a worker with its current session; None when no worker has that name."""
        return self.status(name).worker if self.records.named(name) else None

    def session_of(self, worker: WorkerInfo) -> Session | None:
        """Find the session of a worker; None while it has no file."""
        sessions = self.sessions.all(worker.agent) if worker.session else ()
        return next((session for session in sessions if session.id == worker.session), None)

    def _statuses(self, workers: Sequence[WorkerInfo]) -> list[WorkerStatus]:
        result = self.described(self.lookout().look(workers))
        # Hook events are otherwise imported by those who want the snapshots in them, because
        # these take git. Some users only ever look at workers.
        with suppress(OSError):
            spool = self.records.path.parent / "spool" / "events.jsonl"
            if spool.stat().st_size > _MUCH:
                self.import_events()
        return result

    def own_pane(self, worker: WorkerInfo) -> tuple[Terminal, Pane]:
        """Return the pane, after checking that the worker's own process runs in it."""
        if worker.pane is None:
            raise Unsupported(f"{worker.name} does not run in a pane that prong opened")
        if self.liveness.has_ended(worker):
            raise Unavailable(f"{worker.name} is gone", hint=f"prong restart {worker.name}")
        return self.terminals.of(worker.pane), worker.pane

    # -- wait --------------------------------------------------------------------------------

    def wait(
        self,
        names: Sequence[str],
        *,
        any_: bool = False,
        timeout: float = inf,
        until: Collection[WorkerState] = ENDS,
    ) -> list[WorkerStatus]:
        """Wait until all workers, or any, are in one of these states; return their status.

        A worker that is gone always counts. Raises `NotFound` for an unknown name, and `Busy` on
        timeout.
        """
        names = list(dict.fromkeys(names))
        final = frozenset({*until, WorkerState.GONE})
        combine = any if any_ else all
        end = time.monotonic() + timeout
        lookout = self.lookout()
        is_first = True
        while True:
            statuses = lookout.look([self.records.get(name) for name in names])
            if not statuses or combine(status.state in final for status in statuses):
                return self.described(statuses)
            left = end - time.monotonic()
            if left <= 0:
                raise _too_long(statuses, final, timeout)
            # Check what the daemon reports: it may know less, or report a state that is already
            # over. So it is asked once.
            is_told = is_first and self._told_by_daemon(names, final, left, any_=any_)
            is_first = False
            pause = _AFTER_A_WORD if is_told else _LOOK_EVERY
            time.sleep(min(pause, max(0.0, end - time.monotonic())))

    def _told_by_daemon(
        self, names: Sequence[str], over: Iterable[WorkerState], timeout: float, *, any_: bool
    ) -> bool:
        """Wait for the daemon's answer. False if it does not run, or ended meanwhile."""
        daemon = Daemon(self.records.path.parent)
        try:
            if not daemon.running():
                return False
            daemon.wait(names, [state.value for state in over], timeout, any_=any_)
        except Unavailable:
            return False
        except ProngError as error:
            debug(__name__, "the daemon does not wait: %s", error)
            return False
        return True

    def watched(self, workers: Iterable[WorkerInfo]) -> set[Path]:
        """Return the folders whose changes may change the state of these workers."""
        state = self.records.path.parent
        folders = {state, state / "spool"}
        open_sessions: defaultdict[str, list[str]] = defaultdict(list)
        for worker in workers:
            open_sessions[worker.agent] += [worker.session] if worker.session else []
            if worker.log is not None:
                folders.add(worker.log.parent)
        for agent, sessions in open_sessions.items():
            store = self.stores.get(agent)
            if store is not None:
                folders.update(store.live_folders(sessions))
        return folders

    # -- start -------------------------------------------------------------------------------

    def ready(self, name: str, timeout: float = 60) -> WorkerStatus:
        """Wait until the agent of a worker reports an open session; a pane is not enough.

        Raises `External` when its program ended instead. A worker that waits in a dialog, or that
        reports nothing in time, is returned with that state.
        """
        until = time.monotonic() + timeout
        while True:
            status = self.status(name)
            if status.state is WorkerState.GONE and not status.worker.headless:
                raise self._failed_start(status.worker)
            if status.worker.headless and status.evidence.source == "log":
                error = headless.events(self.stores, status.worker).error
                if error is not None:
                    raise External(
                        f"{status.worker.agent} did not start: {error}",
                        hint=f"prong log {name}",
                        stderr=headless.complaints(status.worker),
                    )
            is_open = status.state not in (WorkerState.STARTING, WorkerState.UNKNOWN)
            is_open = is_open and status.evidence.detail != ENDING
            # An agent that chooses its own ids has none before a person has answered.
            is_known = status.worker.session or status.state is WorkerState.WAITING
            if (is_open and is_known) or time.monotonic() > until:
                return status
            time.sleep(_START_EVERY)

    def _failed_start(self, worker: WorkerInfo) -> External:
        screen, code = "", None
        if worker.pane is not None:
            with suppress(ProngError):
                terminal = self.terminals.of(worker.pane)
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

    # -- words -------------------------------------------------------------------------------

    def described(self, found: Sequence[WorkerStatus]) -> list[WorkerStatus]:
        """Add to each status the last words of its session, and push failures."""
        started = [
            status.worker
            for status in found
            if status.worker.session and status.state is not WorkerState.STARTING
        ]
        sessions = {  # one scan per agent
            session.ref: session
            for agent in {worker.agent for worker in started} & set(self.stores)
            for session in self.sessions.all(agent)
        }
        wanted = {SessionRef(worker.agent, worker.session or "") for worker in started}
        result: list[WorkerStatus] = []
        for status in found:
            worker = status.worker
            ref = SessionRef(worker.agent, worker.session or "")
            session = sessions.get(ref) if ref in wanted else None
            described = self._with_words(status, session) if session else status
            result.append(replace(described, push_failure=push.failure(worker)))
        # The exit code takes a query to the terminal, so only for a single worker.
        return [self._with_exit_code(result[0])] if len(result) == 1 else result

    def _with_words(self, status: WorkerStatus, session: Session) -> WorkerStatus:
        status = replace(status, turn=session.turn_count)
        words = self.stores[session.agent].last_words(session)
        if words is None or acknowledges_seed(words.prompt, words.said):
            return status
        lines = [line.strip() for line in words.said.splitlines() if line.strip()]
        return replace(status, last_line=lines[-1] if lines else "", last_input=words.prompt)

    def _with_exit_code(self, status: WorkerStatus) -> WorkerStatus:
        pane = status.worker.pane
        if status.state is not WorkerState.GONE or pane is None:
            return status
        try:
            terminal = self.terminals.of(pane)
            code = terminal.exit_code(pane) if isinstance(terminal, HasExitCodes) else None
        except ProngError as error:
            debug(__name__, "%s does not tell how its program ended: %s", pane, error)
            return status
        return replace(status, exit_code=code)


def _too_long(found: Iterable[WorkerStatus], over: Collection[WorkerState], timeout: float) -> Busy:
    unfinished = [status for status in found if status.state not in over]
    summary = ", ".join(f"{status.worker.name} is {status.state.value}" for status in unfinished)
    return Busy(
        f"{summary} after {round(timeout, 1):g} s",
        hint=f"prong status {unfinished[0].worker.name}, or a longer --timeout",
        workers=[status.worker.name for status in unfinished],
    )
