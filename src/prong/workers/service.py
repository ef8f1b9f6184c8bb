"""Facade for all operations on workers: `App.workers`.

Use cases are imported inside the methods, as in `prong.app`.
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
    from prong.forks.plan import ForkOptions
    from prong.workers.answers import SentPrompt
    from prong.workers.launch.clone import CloneArguments
    from prong.workers.launch.plan import WorkerOptions, WorkerPlan
    from prong.workers.launch.start import ForkRun

ENDS = frozenset({WorkerState.IDLE, WorkerState.WAITING, WorkerState.GONE})
"""States that end a wait: nothing more happens without a person."""


def _nobody(_: WorkerStatus) -> None:
    """Progress callback that does nothing."""


class Workers:
    """Workers that prong started, and how to start more."""

    def __init__(self, app: App) -> None:
        self._app = app

    @cached_property
    def records(self) -> WorkerRecords:
        return WorkerRecords(self._app.database)

    # -- start -------------------------------------------------------------------------------

    def plan(self, options: WorkerOptions) -> WorkerPlan:
        """Plan the start of a worker. Writes nothing."""
        from prong.workers.launch import plan as worker_planning

        return worker_planning.plan(self._app, options)

    def start(self, plan: WorkerPlan) -> WorkerInfo:
        """Start a planned worker; return when its program runs and it is recorded."""
        from prong.workers.launch import start as worker_starting

        return worker_starting.start(self._app, plan)

    def ready(
        self, name: str, timeout: float = 60, told: Callable[[WorkerStatus], None] = _nobody
    ) -> WorkerStatus:
        """Wait until the worker's session is open. Raises `External` when it ended instead."""
        from prong.workers import readiness

        return readiness.ready(self._app, name, timeout, told)

    def open_fork(self, fork: Fork, run: ForkRun) -> WorkerInfo:
        """Run an existing fork as a worker."""
        from prong.workers.launch import start as worker_starting

        return worker_starting.open_fork(self._app, fork, run)

    def fork(
        self,
        source: str,
        name: str | None = None,
        *,
        prompt: str | None = None,
        turn: int | str | None = None,
        options: ForkOptions | None = None,
    ) -> WorkerInfo:
        """Fork a worker or session and run the fork with the same command and settings.

        `turn` is a number, -1 for the last turn, or an id. `options` replace name and prompt.
        """
        from prong.workers.launch import fork as worker_forking

        options = options or worker_forking.ForkOptions(prompt=prompt, name=name)
        return worker_forking.fork(self._app, source, options, turn)

    def clone(
        self, source: str, new: str | None = None, **how: Unpack[CloneArguments]
    ) -> WorkerInfo:
        """Copy a worker or session with its workspace once it is idle, and run the copy."""
        from prong.workers.launch import clone as worker_cloning

        return worker_cloning.clone(self._app, source, new, **how)

    def restart(
        self, name: str, terminal: str | None = None, place: Placement | None = None
    ) -> WorkerInfo:
        """Reopen the session of a worker that is gone, in a new pane."""
        from prong.workers.launch import start as worker_starting

        return worker_starting.restart(self._app, self.named(name), terminal, place)

    # -- status ------------------------------------------------------------------------------

    def named(self, name: str) -> WorkerInfo:
        """Return the record of a worker. Raises `NotFound`."""
        worker = self.records.named(name)
        if worker is None:
            raise NotFound(f"no worker named {name}", hint="prong ps")
        return worker

    def current(self, name: str) -> WorkerInfo | None:
        """Return a worker with its current session; None when no worker has that name."""
        worker = self.records.named(name)
        return self.status(name).worker if worker else None

    def all(self) -> list[WorkerStatus]:
        """List all recorded workers with their status, oldest first."""
        from prong.workers import state

        return state.statuses(self._app, self.records.all())

    def status(self, name: str) -> WorkerStatus:
        """Find out what one worker does."""
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
        """Wait until all of these workers are done, or any of them."""
        from prong.workers import wait as worker_waiting

        return worker_waiting.wait(self._app, names, any_=any_, timeout=timeout, until=until)

    # -- prompts -----------------------------------------------------------------------------

    def send(self, name: str, text: str, *, as_command: bool = False) -> None:
        """Send a prompt to a worker."""
        from prong.workers import talk

        talk.send(self._app, self.named(name), text, as_command=as_command)

    def ask(self, name: str, text: str, *, as_command: bool = False) -> SentPrompt | None:
        """Send a prompt whose answer will be awaited; None when the worker is busy."""
        from prong.workers import talk

        return talk.ask(self._app, self.named(name), text, as_command=as_command)

    def answer(
        self, sent: SentPrompt, timeout: float = inf, until: Collection[WorkerState] = ENDS
    ) -> tuple[WorkerStatus, str | None]:
        """Wait for the answer to a prompt; None when the worker ended or waits for a person."""
        from prong.workers import talk

        return talk.answer(self._app, sent, timeout, until)

    def interrupt(self, name: str) -> None:
        """Interrupt the turn of a worker, if it has one."""
        from prong.workers import talk

        talk.interrupt(self._app, self.named(name))

    def press(self, name: str, *keys: str) -> None:
        """Press keys in the pane of a worker."""
        from prong.workers import talk

        talk.press(self._app, self.named(name), *keys)

    def reply(self, name: str, after_turn: int = 0) -> str:
        """Return the last answer of a worker after a turn number."""
        from prong.workers import talk

        return talk.reply(self._app, self.named(name), after_turn)

    def log(self, name: str, *, follow: bool = False) -> Iterator[Message]:
        """Iterate over the messages of a worker's session; with `follow`, also over new ones."""
        from prong.workers import talk

        return talk.log(self._app, self.named(name), follow=follow)

    def attach(self, name: str) -> Launch | None:
        """Focus a worker's pane and return None, or return the command that attaches to it."""
        from prong.workers import stop as worker_attaching

        return worker_attaching.attach(self._app, self.named(name))

    # -- stop --------------------------------------------------------------------------------

    def rename(self, name: str, new: str) -> WorkerInfo:
        """Give a worker another name."""
        from prong.workers import stop as worker_stopping

        return worker_stopping.rename(self._app, self.named(name), new)

    def stop(self, name: str, *, force: bool = False) -> WorkerInfo:
        """Stop a worker. Raises `Busy` when it is busy, unless `force` is set."""
        from prong.workers import stop as worker_stopping

        return worker_stopping.stop(self._app, self.named(name), force=force)

    def forget(self, name: str) -> None:
        """Remove a worker that is gone from the list; its session and workspace stay."""
        from prong.workers import stop as worker_stopping

        worker_stopping.forget(self._app, self.named(name))
