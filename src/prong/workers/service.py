"""All that can be done with workers, in one place: `App.workers`.

What a use case needs is imported when it is asked for, as in `prong.app`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Unpack

from prong.errors import NotFound
from prong.model.forks import Fork, Launch
from prong.model.sessions import Message
from prong.model.workers import Placement, WorkerInfo, WorkerState, WorkerStatus
from prong.storage.workers import WorkerRecords

if TYPE_CHECKING:
    from prong.app import App
    from prong.workers.answers import SentPrompt
    from prong.workers.launch.clone import CloneArguments
    from prong.workers.launch.plan import WorkerOptions, WorkerPlan
    from prong.workers.launch.start import ForkRun

ENDS = frozenset({WorkerState.IDLE, WorkerState.WAITING, WorkerState.GONE})
"""What a wait is over with: nothing more comes without a person."""


def _nobody(_: WorkerStatus) -> None:
    """Told of what is waited for."""


class Workers:
    """The workers that prong started, and how to start more."""

    def __init__(self, app: App) -> None:
        self._app = app

    @cached_property
    def records(self) -> WorkerRecords:
        return WorkerRecords(self._app.database)

    # -- starting ----------------------------------------------------------------------------

    def plan(self, options: WorkerOptions) -> WorkerPlan:
        """What starting a worker would do. Writes nothing."""
        from prong.workers.launch import plan as worker_planning

        return worker_planning.plan(self._app, options)

    def start(self, plan: WorkerPlan) -> WorkerInfo:
        """Start a worker as planned; returns when its program runs and it is recorded."""
        from prong.workers.launch import start as worker_starting

        return worker_starting.start(self._app, plan)

    def ready(
        self, name: str, timeout: float = 60, told: Callable[[WorkerStatus], None] = _nobody
    ) -> WorkerStatus:
        """Wait until a worker has its session open. Raises `External` when it ended instead."""
        from prong.workers import readiness

        return readiness.ready(self._app, name, timeout, told)

    def open_fork(self, fork: Fork, run: ForkRun) -> WorkerInfo:
        """Run a fork that was made as a worker."""
        from prong.workers.launch import start as worker_starting

        return worker_starting.open_fork(self._app, fork, run)

    def fork(
        self,
        source: str,
        name: str | None = None,
        *,
        prompt: str | None = None,
        turn: int | str | None = None,
    ) -> WorkerInfo:
        """Fork a worker or a session, and run the fork with the same command and settings.

        With `turn`, at that one: its number, -1 for the last, or its id.
        """
        from prong.workers.launch import fork as worker_forking

        return worker_forking.fork(self._app, source, name, prompt=prompt, turn=turn)

    def clone(
        self, source: str, new: str | None = None, **how: Unpack[CloneArguments]
    ) -> WorkerInfo:
        """Copy a worker, or a session, with its workspace when it is idle, and run the copy."""
        from prong.workers.launch import clone as worker_cloning

        return worker_cloning.clone(self._app, source, new, **how)

    def restart(
        self, name: str, terminal: str | None = None, place: Placement | None = None
    ) -> WorkerInfo:
        """Open the session of a worker that is gone again, in a new pane."""
        from prong.workers.launch import start as worker_starting

        return worker_starting.restart(self._app, self.named(name), terminal, place)

    # -- looking -----------------------------------------------------------------------------

    def named(self, name: str) -> WorkerInfo:
        """What is recorded of a worker."""
        found = self.records.named(name)
        if found is None:
            raise NotFound(f"no worker named {name}", hint="prong ps")
        return found

    def current(self, name: str) -> WorkerInfo | None:
        """A worker with the session that it has open now; None when there is none of that name."""
        found = self.records.named(name)
        return self.status(name).worker if found else None

    def all(self) -> list[WorkerStatus]:
        """Every recorded worker and what it does, the oldest first."""
        from prong.workers import state

        return state.statuses(self._app, self.records.all())

    def status(self, name: str) -> WorkerStatus:
        """One worker and what it does."""
        from prong.workers import state

        return state.statuses(self._app, [self.named(name)])[0]

    def wait(
        self,
        names: Sequence[str],
        *,
        any_: bool = False,
        timeout: float = inf,
        until: Collection[WorkerState] = ENDS,
    ) -> list[WorkerStatus]:
        """Wait until these workers are done, or until the first of them is."""
        from prong.workers import wait as worker_waiting

        return worker_waiting.wait(self._app, names, any_=any_, timeout=timeout, until=until)

    # -- talking -----------------------------------------------------------------------------

    def send(self, name: str, text: str, *, as_command: bool = False) -> None:
        """Give a worker its next prompt."""
        from prong.workers import talk

        talk.send(self._app, self.named(name), text, as_command=as_command)

    def ask(self, name: str, text: str, *, as_command: bool = False) -> SentPrompt | None:
        """Give an idle worker a prompt whose answer is wanted; None when it is at work."""
        from prong.workers import talk

        return talk.ask(self._app, self.named(name), text, as_command=as_command)

    def answer(
        self, sent: SentPrompt, timeout: float = inf, until: Collection[WorkerState] = ENDS
    ) -> tuple[WorkerStatus, str | None]:
        """Wait for the answer to a prompt; None when the worker ended or wants a person instead."""
        from prong.workers import talk

        return talk.answer(self._app, sent, timeout, until)

    def interrupt(self, name: str) -> None:
        """Ask a worker to end its turn; nothing happens to one that has none."""
        from prong.workers import talk

        talk.interrupt(self._app, self.named(name))

    def press(self, name: str, *keys: str) -> None:
        """Press keys in the pane of a worker."""
        from prong.workers import talk

        talk.press(self._app, self.named(name), *keys)

    def reply(self, name: str, after_turn: int = 0) -> str:
        """What a worker answered last, in a turn behind that one."""
        from prong.workers import talk

        return talk.reply(self._app, self.named(name), after_turn)

    def log(self, name: str, *, follow: bool = False) -> Iterator[Message]:
        """What was said in a worker's session; with `follow`, what will be said as well."""
        from prong.workers import talk

        return talk.log(self._app, self.named(name), follow=follow)

    def attach(self, name: str) -> Launch | None:
        """Bring a worker's pane to the person: None when that is done, else how to get there."""
        from prong.workers import stop as worker_attaching

        return worker_attaching.attach(self._app, self.named(name))

    # -- ending ------------------------------------------------------------------------------

    def rename(self, name: str, new: str) -> WorkerInfo:
        """Give a worker another name."""
        from prong.workers import stop as worker_stopping

        return worker_stopping.rename(self._app, self.named(name), new)

    def stop(self, name: str, *, force: bool = False) -> WorkerInfo:
        """End a worker. Raises `Busy` when it is at work, unless it is forced."""
        from prong.workers import stop as worker_stopping

        return worker_stopping.stop(self._app, self.named(name), force=force)

    def forget(self, name: str) -> None:
        """Take a worker that is gone from the list; its session and its workspace stay."""
        from prong.workers import stop as worker_stopping

        worker_stopping.forget(self._app, self.named(name))
