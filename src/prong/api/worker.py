"""`prong.Worker`: start, prompt, fork and stop agents from a program.

    worker = prong.Worker.create("parser", project="/home/ada/shop", prompt="Write the parser.")
    print(worker.send("Now the tests."))
    other = worker.fork("parser-2")
    print(other.send("Do it with a table instead."), worker.state)

`prong.aio` is the asyncio version.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypedDict, TypeVar, Unpack

from prong.api.functions import WorkerForkArguments, fork_options, refuse_unknown
from prong.app import App
from prong.errors import Busy, External
from prong.model.record import Record
from prong.model.workers import Pane, Placement, RunOptions, WorkerInfo, WorkerState, WorkerStatus

if TYPE_CHECKING:
    from prong.workers.request import WorkerPlan, WorkerRequest

T = TypeVar("T")

READY_TIMEOUT = 60.0
RESPONSE_TIMEOUT = 1800.0
_SLICE = 1.0
"""Seconds per step of a wait: it can be cancelled between steps."""

_PRESS_AGAIN = 5.0
"""Seconds until a key is pressed again that a busy UI did not take."""
_TAKES_PROMPTS = (WorkerState.IDLE, WorkerState.WAITING, WorkerState.UNKNOWN)

Steps = Generator[None, None, T]
"""Long operation in steps; the return value is the result."""


class WorkerArguments(TypedDict, total=False):
    """Keyword arguments of `Worker.create`; `prong run --help` describes each."""

    agent: str
    prompt: str | None
    id: str | None
    project: str | PathLike[str] | None
    worktree: bool | None
    branch: str | None
    base: str | None
    model: str | None
    skip_permissions: bool
    settings: str | PathLike[str] | None
    plugin_dirs: Iterable[str | PathLike[str]]
    extra: Iterable[str]
    env: Mapping[str, str]
    command: str | tuple[str, ...] | None
    commit_turns: bool
    push: str | None
    headless: bool
    trust: bool
    terminal: str | None
    place: Placement | str | None
    resume: str | None
    fork: str | None
    continue_: bool


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
        self, name: str, *, response_timeout: float = RESPONSE_TIMEOUT, app: App | None = None
    ) -> None:
        """Use `create` or `open` instead. Without an `app`, each call opens and closes one."""
        self.name = name
        self.response_timeout = response_timeout
        self._app = app

    @classmethod
    def create(
        cls,
        name: str | None = None,
        *,
        ready_timeout: float = READY_TIMEOUT,
        response_timeout: float = RESPONSE_TIMEOUT,
        app: App | None = None,
        **arguments: Unpack[WorkerArguments],
    ) -> Self:
        """Start a worker and wait until its session is open; with 0 seconds, do not wait.

        Raises `Taken` when the name or the id is in use, and `External` when the agent ended at
        once: its last output is in the details.
        """
        options = _options(name, arguments, "name", "ready_timeout", "response_timeout", "app")
        with _opened(app) as opened:
            worker = opened.workers.starter.start(opened.workers.planner.plan(options))
            if ready_timeout > 0:
                opened.workers.states.ready(worker.name, ready_timeout)
        return cls(worker.name, response_timeout=response_timeout, app=app)

    @classmethod
    def plan(
        cls,
        name: str | None = None,
        *,
        app: App | None = None,
        **arguments: Unpack[WorkerArguments],
    ) -> WorkerPlan:
        """Return what `create` would start with the same arguments. Writes nothing."""
        options = _options(name, arguments, "name", "app")
        with _opened(app) as opened:
            return opened.workers.planner.plan(options)

    @classmethod
    def open(
        cls,
        name: str,
        *,
        response_timeout: float = RESPONSE_TIMEOUT,
        app: App | None = None,
    ) -> Self:
        """Open an existing worker, whoever started it. Raises `NotFound`."""
        with _opened(app) as opened:
            opened.workers.records.get(name)
        return cls(name, response_timeout=response_timeout, app=app)

    @classmethod
    def list(cls, *, app: App | None = None) -> Sequence[Self]:
        """List all recorded workers, oldest first, including those that are gone."""
        with _opened(app) as opened:
            return [cls(worker.name, app=app) for worker in opened.workers.records.all()]

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
        status = self._status()
        worker = status.worker
        return WorkerFacts(
            name=worker.name,
            agent=worker.agent,
            state=status.state,
            session=worker.session,
            pane=worker.pane,
            command=worker.command,
            workspace=worker.workspace,
            branch=worker.branch,
            headless=worker.headless,
            turn=status.turn,
            last_input=status.last_input,
            last_line=status.last_line,
            fork=worker.fork,
            forked_from=worker.forked_from,
        )

    def _status(self) -> WorkerStatus:
        with _opened(self._app) as app:
            return app.workers.states.status(self.name)

    # -- talking -----------------------------------------------------------------------------

    def send(self, text: str, *, timeout: float | None = None, as_command: bool = False) -> str:
        """Send a prompt and return the answer to it when its turn is over.

        Waits for a busy worker first. The text is a prompt whatever it begins with; with
        `as_command` the agent takes it as if it were typed, so `/clear` clears and `!ls` runs.
        Raises `Busy` on timeout (the worker continues), and `External` when the worker ended.
        """
        return finished(self.sending(text, timeout, as_command=as_command))

    def wait_idle(self, timeout: float = inf) -> None:
        """Wait until the worker is idle. Raises `Busy` on timeout, `External` when it ended."""
        finished(self.waiting_idle(timeout))

    def sending(
        self, text: str, timeout: float | None = None, *, as_command: bool = False
    ) -> Steps[str]:
        """Run `send` in steps."""
        end = time.monotonic() + (self.response_timeout if timeout is None else timeout)
        sent = None
        while sent is None:
            # A worker that waits for a person refuses the prompt itself.
            yield from self._at(end, *_TAKES_PROMPTS)
            with _opened(self._app) as app:
                # None when another sender was faster.
                sent = app.workers.prompts.ask(self.name, text, as_command=as_command)
        # After a prompt, the worker does not count as idle before it answered.
        while True:
            left = max(end - time.monotonic(), 0.0)
            try:
                with _opened(self._app) as app:
                    status, reply = app.workers.prompts.answer(
                        sent, min(left, _SLICE), (WorkerState.IDLE,)
                    )
            except Busy:
                if left <= _SLICE:
                    raise self._late() from None
                yield
                continue
            if reply is None:
                raise self._gone(status)
            return reply

    def waiting_idle(self, timeout: float = inf) -> Steps[None]:
        """Run `wait_idle` in steps."""
        yield from self._at(time.monotonic() + timeout, WorkerState.IDLE)

    def _at(self, end: float, *wanted: WorkerState) -> Steps[WorkerStatus]:
        """Wait until the worker is in one of these states."""
        while True:
            left = max(end - time.monotonic(), 0.0)
            try:
                with _opened(self._app) as app:
                    (status,) = app.workers.states.wait(
                        [self.name], timeout=min(left, _SLICE), until=wanted
                    )
            except Busy:
                if left <= _SLICE:
                    raise self._late() from None
                yield
                continue
            if status.state is WorkerState.GONE:
                raise self._gone(status)
            return status

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
        options = fork_options({**arguments, "name": name}, "turn", function="Worker.fork")
        return self._another(
            lambda app: app.workers.forks.fork(self.name, options=options, turn=turn)
        )

    def clone(self, name: str | None = None, *, timeout: float = inf) -> Self:
        """Start a copy of the worker, its session and its whole workspace, once it is idle."""
        from prong.workers.request import WorkerRequest

        request = WorkerRequest(name=name)
        return self._another(
            lambda app: app.workers.cloner.clone(self.name, request, timeout=timeout)
        )

    def _another(self, make: Callable[[App], WorkerInfo]) -> Self:
        with _opened(self._app) as app:
            worker = make(app)
            if not worker.headless:
                app.workers.states.ready(worker.name, READY_TIMEOUT)
        return type(self)(worker.name, response_timeout=self.response_timeout, app=self._app)

    # -- ending ------------------------------------------------------------------------------

    def interrupt(self, *, timeout: float = READY_TIMEOUT) -> None:
        """Interrupt the turn, if any, and wait until the worker takes prompts again.

        Raises `Busy` if the worker is still busy at the timeout, and `Unsupported` for a headless
        one: use `stop` for its turn.
        """
        finished(self.interrupting(timeout))

    def interrupting(self, timeout: float = READY_TIMEOUT) -> Steps[None]:
        """Run `interrupt` in steps."""
        end = time.monotonic() + timeout
        while True:
            with _opened(self._app) as app:
                app.workers.prompts.interrupt(self.name)
            try:
                yield from self._at(min(end, time.monotonic() + _PRESS_AGAIN), WorkerState.IDLE)
            except Busy:
                if time.monotonic() >= end:
                    raise
            else:
                return

    def restart(self) -> Self:
        """Reopen the session after the worker ended, and wait until it is open.

        Raises `Busy` when the worker runs, and `NotFound` when its folder is gone.
        """
        with _opened(self._app) as app:
            app.workers.starter.restart(self.name)
            app.workers.states.ready(self.name, READY_TIMEOUT)
        return self

    def stop(self, *, force: bool = False) -> None:
        """Stop the worker. Raises `Busy` when it is busy, unless `force` is set."""
        with _opened(self._app) as app:
            app.workers.stop(self.name, force=force)


def finished(steps: Steps[T]) -> T:
    """Run all steps and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


@contextmanager
def _opened(app: App | None) -> Generator[App]:
    """Open an `App` for one call, or use the given one and leave it open."""
    if app is not None:
        yield app
        return
    with App() as own:
        yield own


def _options(name: str | None, given: WorkerArguments, *more: str) -> WorkerRequest:
    from prong.workers.request import WorkerRequest

    refuse_unknown("Worker.create", given, (*WorkerArguments.__annotations__, *more))
    place = given.get("place")
    return WorkerRequest(
        name=name,
        agent=given.get("agent"),
        prompt=given.get("prompt"),
        id=given.get("id"),
        project=_path(given.get("project")),
        worktree=given.get("worktree"),
        branch=given.get("branch"),
        base=given.get("base"),
        run=RunOptions(
            model=given.get("model"),
            skip_permissions=given.get("skip_permissions", False),
            settings=_path(given.get("settings")),
            plugin_dirs=tuple(Path(folder) for folder in given.get("plugin_dirs", ())),
            extra=tuple(given.get("extra", ())),
        ),
        env=dict(given.get("env", {})),
        command=given.get("command"),
        commit_turns=given.get("commit_turns", False),
        push=given.get("push"),
        headless=given.get("headless", False),
        trust=given.get("trust", False),
        terminal=given.get("terminal"),
        place=Placement(place) if place is not None else None,
        resume=given.get("resume"),
        fork=given.get("fork"),
        continue_=given.get("continue_", False),
    )


def _path(given: str | PathLike[str] | None) -> Path | None:
    return Path(given) if given is not None else None
