"""`prong.Worker`: an agent that runs under a name, for programs.

    worker = prong.Worker.create("parser", project="/home/ada/shop", prompt="Write the parser.")
    print(worker.send("Now the tests."))
    other = worker.fork("parser-2")
    print(other.send("Do it with a table instead."), worker.state)

`prong.aio` has the same for `await`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypedDict, TypeVar, Unpack

from prong.api.functions import refuse_unknown
from prong.app import App
from prong.errors import Busy, External
from prong.model.record import Record
from prong.model.workers import Pane, Placement, RunOptions, WorkerInfo, WorkerState, WorkerStatus

if TYPE_CHECKING:
    from prong.workers.launch.plan import WorkerOptions, WorkerPlan

T = TypeVar("T")

READY_TIMEOUT = 60.0
RESPONSE_TIMEOUT = 1800.0
_SLICE = 1.0
"""Waiting comes in pieces of so many seconds: in between, it can be given up."""

_PRESS_AGAIN = 5.0
"""After so many seconds a key that a busy UI did not take is pressed again."""
_TAKES_PROMPTS = (WorkerState.IDLE, WorkerState.WAITING, WorkerState.UNKNOWN)

Steps = Generator[None, None, T]
"""Something that takes long, piece by piece; what it returns is the result."""


class WorkerArguments(TypedDict, total=False):
    """What can be said about a new worker; `prong run --help` describes each."""

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
    """What is known of a worker at one moment."""

    name: str
    agent: str
    state: WorkerState
    session: str | None
    """The id of its session; None while only the agent knows it."""
    pane: Pane | None
    command: str | tuple[str, ...]
    """How its agent is started, without session and prompt."""
    workspace: Path
    branch: str | None
    headless: bool
    turn: int | None
    last_input: str | None
    last_line: str
    fork: str | None
    """The id of the recorded fork that it runs."""
    forked_from: str | None


class Worker:
    """A worker by its name. Nothing is held open in between: others may use it as well."""

    def __init__(
        self, name: str, *, response_timeout: float = RESPONSE_TIMEOUT, app: App | None = None
    ) -> None:
        """Use `create` or `open`. Without an `app`, each call opens one and closes it again."""
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
        """Start one, and wait until its session is open; with 0 seconds nobody waits.

        Raises `Taken` when the name or the id is in use, and `External` when the agent ended at
        once: the end of what it said is in the details.
        """
        options = _options(name, arguments, "name", "ready_timeout", "response_timeout", "app")
        with _opened(app) as there:
            started = there.workers.start(there.workers.plan(options))
            if ready_timeout > 0:
                there.workers.ready(started.name, ready_timeout)
        return cls(started.name, response_timeout=response_timeout, app=app)

    @classmethod
    def plan(
        cls,
        name: str | None = None,
        *,
        app: App | None = None,
        **arguments: Unpack[WorkerArguments],
    ) -> WorkerPlan:
        """What `create` with the same arguments would start. Writes nothing."""
        options = _options(name, arguments, "name", "app")
        with _opened(app) as there:
            return there.workers.plan(options)

    @classmethod
    def open(
        cls,
        name: str,
        *,
        response_timeout: float = RESPONSE_TIMEOUT,
        app: App | None = None,
    ) -> Self:
        """One that was started before, by whomever. Raises `NotFound`."""
        with _opened(app) as there:
            there.workers.named(name)
        return cls(name, response_timeout=response_timeout, app=app)

    @classmethod
    def list(cls, *, app: App | None = None) -> Sequence[Self]:
        """All that are recorded, the oldest first; also those that are gone."""
        with _opened(app) as there:
            return [cls(one.name, app=app) for one in there.workers.records.all()]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leaving the block stops it, whatever it does."""
        self.stop(force=True)

    # -- looking -----------------------------------------------------------------------------

    @property
    def state(self) -> WorkerState:
        """What it does now."""
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
            return app.workers.status(self.name)

    # -- talking -----------------------------------------------------------------------------

    def send(self, text: str, *, timeout: float | None = None, as_command: bool = False) -> str:
        """Give it a prompt, and return the answer to this prompt when its turn is over.

        A worker at work is waited for first. The text is a prompt whatever it begins with; with
        `as_command` the agent takes it as if it were typed, so `/clear` clears and `!ls` runs.
        Raises `Busy` when all that takes longer than the timeout (the worker goes on), and
        `External` when it ended.
        """
        return finished(self.sending(text, timeout, as_command=as_command))

    def wait_idle(self, timeout: float = inf) -> None:
        """Return when it is idle. Raises `Busy` when it takes longer, `External` when it ended."""
        finished(self.waiting_idle(timeout))

    def sending(
        self, text: str, timeout: float | None = None, *, as_command: bool = False
    ) -> Steps[str]:
        """`send`, piece by piece."""
        end = time.monotonic() + (self.response_timeout if timeout is None else timeout)
        sent = None
        while sent is None:
            # One that waits for a person says so itself when it is given a prompt.
            yield from self._at(end, *_TAKES_PROMPTS)
            with _opened(self._app) as app:
                # None when somebody else was faster.
                sent = app.workers.ask(self.name, text, as_command=as_command)
        # Whoever gives a prompt is not taken for idle before it was answered.
        while True:
            left = max(end - time.monotonic(), 0.0)
            try:
                with _opened(self._app) as app:
                    status, reply = app.workers.answer(sent, min(left, _SLICE), (WorkerState.IDLE,))
            except Busy:
                if left <= _SLICE:
                    raise self._late() from None
                yield
                continue
            if reply is None:
                raise self._gone(status)
            return reply

    def waiting_idle(self, timeout: float = inf) -> Steps[None]:
        """`wait_idle`, piece by piece."""
        yield from self._at(time.monotonic() + timeout, WorkerState.IDLE)

    def _at(self, end: float, *wanted: WorkerState) -> Steps[WorkerStatus]:
        """The worker, when it has come to one of these states."""
        while True:
            left = max(end - time.monotonic(), 0.0)
            try:
                with _opened(self._app) as app:
                    (status,) = app.workers.wait(
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
            what = status.evidence.detail or "a person"
            return Busy(f"{self.name} waits for {what}", hint=f"prong attach {self.name}")
        return Busy(f"{self.name} is still {status.state.value}", hint=f"prong wait {self.name}")

    # -- more of the same --------------------------------------------------------------------

    def fork(
        self,
        name: str | None = None,
        *,
        prompt: str | None = None,
        turn: int | str | None = None,
    ) -> Self:
        """A new worker with this one's conversation so far, and with the code as it is now.

        With `turn` (its number, -1 for the last, or its id), with the conversation up to that turn
        and the code as it stood then. Command, model, permissions and settings are this one's.
        Raises `NotFound` when nobody knows which session it has, or there is no such turn.
        """
        return self._another(
            lambda app: app.workers.fork(self.name, name, prompt=prompt, turn=turn)
        )

    def clone(self, name: str | None = None, *, timeout: float = inf) -> Self:
        """A new worker with a copy of the session and of the whole workspace, when this is idle."""
        return self._another(lambda app: app.workers.clone(self.name, name, timeout=timeout))

    def _another(self, make: Callable[[App], WorkerInfo]) -> Self:
        with _opened(self._app) as app:
            made = make(app)
            if not made.headless:
                app.workers.ready(made.name, READY_TIMEOUT)
        return type(self)(made.name, response_timeout=self.response_timeout, app=self._app)

    # -- ending ------------------------------------------------------------------------------

    def interrupt(self, *, timeout: float = READY_TIMEOUT) -> None:
        """End its turn, and return when it takes prompts again. An idle one is left alone.

        Raises `Busy` when it is still at work then, and `Unsupported` for a headless one: `stop`
        ends its turn.
        """
        finished(self.interrupting(timeout))

    def interrupting(self, timeout: float = READY_TIMEOUT) -> Steps[None]:
        """`interrupt`, piece by piece."""
        end = time.monotonic() + timeout
        while True:
            with _opened(self._app) as app:
                app.workers.interrupt(self.name)
            try:
                yield from self._at(min(end, time.monotonic() + _PRESS_AGAIN), WorkerState.IDLE)
            except Busy:
                if time.monotonic() >= end:
                    raise
            else:
                return

    def restart(self) -> Self:
        """Open its session again after it ended, and return when that is open.

        Raises `Busy` when it runs, and `NotFound` when its folder is gone.
        """
        with _opened(self._app) as app:
            app.workers.restart(self.name)
            app.workers.ready(self.name, READY_TIMEOUT)
        return self

    def stop(self, *, force: bool = False) -> None:
        """End it. Raises `Busy` when it is at work, unless it is forced."""
        with _opened(self._app) as app:
            app.workers.stop(self.name, force=force)


def finished(steps: Steps[T]) -> T:
    """What comes out when all the pieces are done, one after the other."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


@contextmanager
def _opened(app: App | None) -> Generator[App]:
    """A given one stays open."""
    if app is not None:
        yield app
        return
    with App() as own:
        yield own


def _options(name: str | None, given: WorkerArguments, *more: str) -> WorkerOptions:
    from prong.workers.launch.plan import WorkerOptions

    refuse_unknown("Worker.create", given, (*WorkerArguments.__annotations__, *more))
    place = given.get("place")
    return WorkerOptions(
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
            plugin_dirs=tuple(Path(one) for one in given.get("plugin_dirs", ())),
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
