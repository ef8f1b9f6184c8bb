"""`prong.Worker`: start, prompt, fork and stop agents from a program.

    worker = prong.Worker.create("parser", project="/home/ada/shop", prompt="Write the parser.")
    print(worker.send("Now the tests."))
    other = worker.fork("parser-2")
    print(other.send("Do it with a table instead."), worker.state)

`prong.aio` is the asyncio version.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from prong.api.requests import (
    WorkerArguments,
    WorkerForkArguments,
    fork_request,
    refuse_unknown,
    worker_request,
)
from prong.app import App
from prong.errors import Busy, External
from prong.model.record import Record, asdict
from prong.model.workers import Pane, WorkerInfo, WorkerState, WorkerStatus
from prong.workers.request import WorkerRequest

if TYPE_CHECKING:
    from prong.workers.request import WorkerPlan
    from prong.workers.service import WorkerService

T = TypeVar("T")

READY_TIMEOUT = 60.0
RESPONSE_TIMEOUT = 1800.0
_SLICE = 1.0
"""Seconds per step of a wait: it can be cancelled between steps."""
_PRESS_AGAIN = 5.0
"""Seconds until a key is pressed again that a busy UI did not take."""
_IDLE = (WorkerState.IDLE,)
_TAKES_PROMPTS = (WorkerState.IDLE, WorkerState.WAITING, WorkerState.UNKNOWN)


class WorkerFacts(Record, frozen=True):
    """Snapshot of a worker's record and state."""

    name: str
    agent: str
    state: WorkerState
    session: str | None
    """Session id; None while only the agent knows it."""
    pane: Pane | None
    command: str | tuple[str, ...]
    """Command that starts the agent, without session and prompt."""
    workspace: Path
    branch: str | None
    headless: bool
    turn: int | None
    last_input: str | None
    last_line: str
    fork: str | None
    """Id of the recorded fork that the worker runs."""
    forked_from: str | None


class Worker:
    """Handle to a worker. Holds no resources, so others may use the worker as well."""

    def __init__(
        self,
        name: str,
        *,
        response_timeout: float = RESPONSE_TIMEOUT,
        workers: WorkerService | None = None,
        check: Callable[[], None] | None = None,
    ) -> None:
        """Use `create` or `open` instead. Without `workers`, each call opens and closes an `App`.

        A wait calls `check` at least once a second, and ends with what that raises.
        """
        self.name = name
        self.response_timeout = response_timeout
        self._workers = workers
        self._check = check

    @classmethod
    def create(
        cls,
        name: str | None = None,
        *,
        ready_timeout: float = READY_TIMEOUT,
        response_timeout: float = RESPONSE_TIMEOUT,
        workers: WorkerService | None = None,
        **arguments: Unpack[WorkerArguments],
    ) -> Self:
        """Start a worker and wait until its session is open; with 0 seconds, do not wait.

        Raises `Taken` when the name or the id is in use, and `External` when the agent ended at
        once: its last output is in the details.
        """
        known = (*_CREATE, "ready_timeout", "response_timeout")
        refuse_unknown("Worker.create", arguments, known)
        with _opened(workers) as service:
            plan = service.planner.plan(worker_request(name, **arguments))
            worker = service.starter.start(plan)
            if ready_timeout > 0:
                service.states.ready(worker.name, ready_timeout)
        return cls(worker.name, response_timeout=response_timeout, workers=workers)

    @classmethod
    def plan(
        cls,
        name: str | None = None,
        *,
        workers: WorkerService | None = None,
        **arguments: Unpack[WorkerArguments],
    ) -> WorkerPlan:
        """Return what `create` would start with the same arguments. Writes nothing."""
        refuse_unknown("Worker.create", arguments, _CREATE)
        with _opened(workers) as service:
            return service.planner.plan(worker_request(name, **arguments))

    @classmethod
    def open(
        cls,
        name: str,
        *,
        response_timeout: float = RESPONSE_TIMEOUT,
        workers: WorkerService | None = None,
        check: Callable[[], None] | None = None,
    ) -> Self:
        """Open an existing worker, whoever started it. Raises `NotFound`."""
        with _opened(workers) as service:
            service.records.get(name)
        return cls(name, response_timeout=response_timeout, workers=workers, check=check)

    @classmethod
    def list(cls, *, workers: WorkerService | None = None) -> Sequence[Self]:
        """List all recorded workers, oldest first, including those that are gone."""
        with _opened(workers) as service:
            return [cls(worker.name, workers=workers) for worker in service.records.all()]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the worker, even if it is busy."""
        self.stop(force=True)

    # -- looking -----------------------------------------------------------------------------

    @property
    def state(self) -> WorkerState:
        """Current state."""
        return self._status().state

    def info(self) -> WorkerFacts:
        """Record and state of the worker."""
        status = self._status()
        fields: dict[str, Any] = asdict(status.worker) | asdict(status) | {"state": status.state}
        return WorkerFacts(**{name: fields[name] for name in WorkerFacts.__struct_fields__})

    def _status(self) -> WorkerStatus:
        with _opened(self._workers) as workers:
            return workers.states.status(self.name)

    # -- talking -----------------------------------------------------------------------------

    def send(self, text: str, *, timeout: float | None = None, as_command: bool = False) -> str:
        """Send a prompt and return the answer to it when its turn is over.

        Waits for a busy worker first. The text is a prompt whatever it begins with; with
        `as_command` the agent takes it as if it were typed, so `/clear` clears and `!ls` runs.
        Raises `Busy` on timeout (the worker continues), and `External` when the worker ended.
        """
        end = time.monotonic() + (self.response_timeout if timeout is None else timeout)
        sent = None
        while sent is None:
            # A worker that waits for a person refuses the prompt itself.
            self._wait(end, _TAKES_PROMPTS)
            with _opened(self._workers) as workers:
                # None when another sender was faster.
                sent = workers.prompts.ask(self.name, text, as_command=as_command)
        # After a prompt, the worker does not count as idle before it answered.
        status, reply = self._in_steps(
            end, lambda workers, seconds: workers.prompts.answer(sent, seconds, _IDLE)
        )
        if reply is None:
            raise self._gone(status)
        return reply

    def wait_idle(self, timeout: float = inf) -> None:
        """Wait until the worker is idle. Raises `Busy` on timeout, `External` when it ended."""
        self._wait(time.monotonic() + timeout, _IDLE)

    def _wait(self, end: float, wanted: Sequence[WorkerState]) -> None:
        """Wait until the worker is in one of these states."""
        (status,) = self._in_steps(
            end,
            lambda workers, seconds: workers.states.wait(
                [self.name], timeout=seconds, until=wanted
            ),
        )
        if status.state is WorkerState.GONE:
            raise self._gone(status)

    def _in_steps(self, end: float, wait: Callable[[WorkerService, float], T]) -> T:
        while True:
            left = max(end - time.monotonic(), 0.0)
            try:
                with _opened(self._workers) as workers:
                    return wait(workers, min(left, _SLICE))
            except Busy:
                if left <= _SLICE:
                    raise self._late() from None
            if self._check is not None:
                self._check()

    def _gone(self, status: WorkerStatus) -> External:
        hint = f"prong restart {self.name}"
        return External(f"{self.name} is gone", hint=hint, status=status.exit_code)

    def _late(self) -> Busy:
        status = self._status()
        if status.state is WorkerState.WAITING:
            reason = status.evidence.detail or "a person"
            return Busy(f"{self.name} waits for {reason}", hint=f"prong attach {self.name}")
        return Busy(f"{self.name} is still {status.state.value}", hint=f"prong wait {self.name}")

    # -- more of the same --------------------------------------------------------------------

    def fork(
        self,
        name: str | None = None,
        *,
        turn: int | str | None = None,
        **arguments: Unpack[WorkerForkArguments],
    ) -> Self:
        """Start a new worker with this conversation so far, and with the current code.

        With `turn` (its number, -1 for the last, or its id), the conversation ends at that turn and
        the code is the code of that turn. Command, model, permissions and settings are inherited,
        unless the keywords of `prong.fork`, such as `code` and `model`, say otherwise.
        Raises `NotFound` when the worker's session is unknown, or the turn does not exist.
        """
        known = (*WorkerForkArguments.__annotations__, "name", "turn")
        refuse_unknown("Worker.fork", arguments, known)
        request = fork_request(name=name, **arguments)
        point = self.name if turn is None else f"{self.name}@{turn}"
        with _opened(self._workers) as workers:
            return self._started(workers, workers.forks.fork(point, request))

    def clone(self, name: str | None = None, *, timeout: float = inf) -> Self:
        """Start a copy of the worker, its session and its whole workspace, once it is idle."""
        if self._check is not None and self.state is WorkerState.BUSY:
            # Unlike the wait of the cloner, this one can end with what the check raises.
            with suppress(External):  # a worker that ended can be cloned, too
                self.wait_idle(timeout)
        request = WorkerRequest(name=name)
        with _opened(self._workers) as workers:
            clone = workers.cloner.clone(self.name, request, timeout=timeout)
            return self._started(workers, clone)

    def _started(self, workers: WorkerService, worker: WorkerInfo) -> Self:
        if not worker.headless:
            workers.states.ready(worker.name, READY_TIMEOUT)
        return type(self)(
            worker.name, response_timeout=self.response_timeout, workers=self._workers
        )

    # -- ending ------------------------------------------------------------------------------

    def interrupt(self, *, timeout: float = READY_TIMEOUT) -> None:
        """Interrupt the turn, if any, and wait until the worker takes prompts again.

        Raises `Busy` if the worker is still busy at the timeout, and `Unsupported` for a headless
        one: use `stop` for its turn.
        """
        end = time.monotonic() + timeout
        while True:
            with _opened(self._workers) as workers:
                workers.prompts.interrupt(self.name)
            try:
                return self._wait(min(end, time.monotonic() + _PRESS_AGAIN), _IDLE)
            except Busy:
                if time.monotonic() >= end:
                    raise

    def restart(self) -> Self:
        """Reopen the session after the worker ended, and wait until it is open.

        Raises `Busy` when the worker runs, and `NotFound` when its folder is gone.
        """
        with _opened(self._workers) as workers:
            workers.starter.restart(self.name)
            workers.states.ready(self.name, READY_TIMEOUT)
        return self

    def stop(self, *, force: bool = False) -> None:
        """Stop the worker. Raises `Busy` when it is busy, unless `force` is set."""
        with _opened(self._workers) as workers:
            workers.stop(self.name, force=force)


_CREATE = (*WorkerArguments.__annotations__, "name", "workers")


@contextmanager
def _opened(workers: WorkerService | None) -> Generator[WorkerService]:
    """Open an `App` for one call, or use the given service."""
    if workers is not None:
        yield workers
        return
    with App() as own:
        yield own.workers
