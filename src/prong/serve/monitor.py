"""Looks at all workers when something changed, and once a second; tells what is new."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from threading import Condition, Event, Thread

from starlette.requests import ClientDisconnect

from prong.app import App
from prong.errors import NotFound, ProngError, Unavailable
from prong.model.forks import Fork, Method
from prong.model.workers import WorkerState, WorkerStatus
from prong.serve.changes import changes
from prong.serve.events import Events, Listener
from prong.serve.watching import Watch
from prong.workers.evidence import ENDING, SETTLED
from prong.workers.state import Lookout, described

_SLOW_POLL = 1.0
"""That a pane was closed is told by no file."""
_FIRST_LOOK = 5.0
"""So many seconds the start waits for it, and no longer: asking works without."""
_LISTEN = 1.0
"""How often somebody who waits is looked after: it may have gone away."""
_TIDY_UP = 60.0
_DOUBT = 0.3
"""For so many seconds nobody knows whether what ended was stopped."""
_PAUSE = (0.03, 0.25)
"""Between two looks, in seconds: at least, and at most. In between, as long as the look took."""
_HEADLESS_POLL = 0.25
"""The end of a program is told by no file, either, and ends the turn of a headless worker."""

_log = logging.getLogger(__name__)
Statuses = Mapping[str, WorkerStatus]
Stamp = tuple[tuple[int, int, int] | None, ...]


class Monitor:
    """What is known of the workers. One thread looks; all others ask what it saw."""

    def __init__(self, opened: Callable[[], App], events: Events) -> None:
        self._opened = opened
        self._events = events
        self._wanted = Event()
        self._over = False
        self._known = Condition()
        """Held while events are told and what is known changes: both are seen together."""
        self._statuses: Statuses = {}
        self._seen: Statuses = {}
        self._glance: dict[str, object] = {}
        self._tidied = time.monotonic()
        self._due = 0.0
        """When something may have changed that no file tells of."""
        self._doubtful: dict[str, float] = {}
        """Workers whose program ended, and since when that is known."""
        self._begun = 0
        self._done = 0
        self._thread = Thread(target=self._run, name="monitor", daemon=True)
        self._watch = Watch(self._wanted.set, _is_of_interest)
        self._forks: set[str] | None = None
        self._inherited: dict[str, int] = {}
        """How many turns the sessions of forks got from where they come from."""
        self._stamp: Stamp = ()

    def start(self) -> None:
        """Look, and begin to watch. What there is now is no news."""
        self._watch.start()
        self._thread.start()
        with self._known:
            self._known.wait_for(lambda: self._done, _FIRST_LOOK)

    def stop(self) -> None:
        """Everybody who waits is told so."""
        self._over = True
        self._watch.stop()
        self._wanted.set()
        with self._known:
            self._known.notify_all()

    def wake(self) -> None:
        """Something may be new: look, and tell."""
        self._wanted.set()

    @property
    def statuses(self) -> Statuses:
        """As they were seen last."""
        return self._statuses

    def look(self, is_gone: Callable[[], bool] = lambda: False) -> Statuses:
        """As they are now: seen by a look that begins after this call."""
        with self._known:
            number = self._begun + 1
            self._wanted.set()
            while self._done < number:
                self._listen(_LISTEN, is_gone)
            return self._statuses

    def wait(
        self,
        names: Sequence[str],
        until: Collection[WorkerState],
        timeout: float = inf,
        *,
        any_: bool = False,
        is_gone: Callable[[], bool] = lambda: False,
    ) -> dict[str, WorkerStatus | None]:
        """The workers, when all (or any) are as wanted, or gone, or the time is up.

        None for one that was removed meanwhile.
        """
        end = time.monotonic() + timeout
        statuses = self.look(is_gone)
        for name in names:
            if name not in statuses:
                raise NotFound(f"no worker named {name}", hint="prong ps")
        enough = any if any_ else all
        with self._known:
            while True:
                found = {name: self._statuses.get(name) for name in names}
                left = end - time.monotonic()
                if enough(_is_there(one, until) for one in found.values()) or left <= 0:
                    return found
                self._listen(min(left, _LISTEN), is_gone)

    @contextmanager
    def listening(self) -> Generator[tuple[Listener, Statuses]]:
        """From now on every event; and how things are now."""
        with self._known:
            listening = self._events.listening()
            listener = listening.__enter__()
            seen = listener, self._statuses
        try:
            yield seen
        finally:
            listening.__exit__(None, None, None)

    def _listen(self, seconds: float, is_gone: Callable[[], bool]) -> None:
        self._known.wait(seconds)
        self.check(is_gone)

    def check(self, is_gone: Callable[[], bool]) -> None:
        """Raise when there is no sense in waiting any longer."""
        if self._over:
            raise Unavailable("the daemon is ending", hint="try again")
        if is_gone():
            raise ClientDisconnect

    # -- looking -----------------------------------------------------------------------------

    def _run(self) -> None:
        with self._opened() as app:
            lookout = Lookout(app)
            while not self._over:
                self._wanted.wait(max(self._due - time.monotonic(), 0.0))
                self._wanted.clear()
                began = time.monotonic()
                try:
                    self._look(app, lookout)
                    self._tidy_up(app)
                except ProngError as error:
                    # A file that is locked for too long, a terminal that does not answer.
                    _log.warning("the workers could not be looked at: %s", error.message)
                    self._due = began + _SLOW_POLL
                except Exception:  # noqa: BLE001 -- the next look may be better
                    _log.exception("the workers could not be looked at")
                    self._due = began + _SLOW_POLL
                took = time.monotonic() - began
                time.sleep(min(max(took, _PAUSE[0]), _PAUSE[1]))

    def _look(self, app: App, lookout: Lookout) -> None:
        with self._known:
            self._begun += 1
            number = self._begun
        seen = [one for one in lookout.look(app.workers.records.all()) if _is_made(one)]
        self._due = time.monotonic() + min(map(_patience, seen), default=_SLOW_POLL)
        glance = {one.worker.name: _gist(one) for one in seen}
        # Only of these: it takes longer to see what was said last.
        new = [one for one in seen if self._glance.get(one.worker.name) != _gist(one)]
        words = {one.worker.name: one for one in described(app, new)}
        known = {**self._seen, **words}
        self._seen = {name: known[name] for name in glance}
        statuses = self._believed(self._seen)
        forks = self._new_forks(app)
        self._watch.watch(_folders(app, statuses.values()))
        with self._known:
            if self._done:
                for fork in forks:
                    self._events.tell("fork_created", **_fork(fork))
                for event, fields in changes(self._statuses, statuses, self._inherited):
                    self._events.tell(event, **fields)
            self._statuses, self._glance = statuses, glance
            self._done = number
            self._known.notify_all()

    def _tidy_up(self, app: App) -> None:
        """What hooks told is taken in when somebody lists workers. Nobody else may be there."""
        now = time.monotonic()
        if now - self._tidied > _TIDY_UP and self._statuses:
            self._tidied = now
            app.workers.all()

    def _believed(self, found: Statuses) -> Statuses:
        """What is to be told. One that just ended may be recorded as stopped a moment later."""
        now, known = time.monotonic(), self._statuses
        ended = {
            name
            for name, one in found.items()
            if one.state is WorkerState.GONE and one.worker.stopped is None
            if name in known and known[name].state is not WorkerState.GONE
        }
        self._doubtful = {name: self._doubtful.get(name, now) for name in ended}
        new = {name for name, since in self._doubtful.items() if now - since < _DOUBT}
        if new:
            self._wanted.set()
        return {name: known[name] if name in new else one for name, one in found.items()}

    def _new_forks(self, app: App) -> list[Fork]:
        """Those that were recorded since the last look. The file is read when it changed."""
        stamp = _stamp(app.state_dir / "state.db")
        if stamp == self._stamp:
            return []
        forks = app.recorded_forks()
        known, self._forks = self._forks, {fork.id for fork in forks}
        self._inherited = {fork.child.id: _inherited(fork) for fork in forks}
        self._stamp = stamp
        return [fork for fork in forks if fork.id not in known] if known is not None else []


def _patience(status: WorkerStatus) -> float:
    """After how many seconds one must be looked at again, whether or not a file changes."""
    if status.evidence.detail == ENDING and status.evidence.time is not None:
        # It says that it is idle, and will be believed at that moment.
        left = status.evidence.time + SETTLED - datetime.now(UTC)
        return min(max(left.total_seconds(), 0.0), _SLOW_POLL)
    if status.worker.headless and status.state is WorkerState.BUSY:
        return _HEADLESS_POLL
    return _SLOW_POLL


def _is_made(status: WorkerStatus) -> bool:
    """False for a name that is only reserved: what will run under it is not known yet."""
    worker = status.worker
    return any((worker.started, worker.pane, worker.process))


def _gist(status: WorkerStatus) -> object:
    """What is news when it changes. An idle worker may have been at work between two looks."""
    since = status.evidence.time if status.state is WorkerState.IDLE else None
    return status.worker, status.state, since


def _is_there(status: WorkerStatus | None, until: Collection[WorkerState]) -> bool:
    return status is None or status.state in until or status.state is WorkerState.GONE


def _is_of_interest(path: str) -> bool:
    """Not what opening state.db makes beside it. What is recorded goes to its log first."""
    name = os.path.basename(path)
    return name in ("state.db", "state.db-wal") or not name.startswith(("state.", "daemon."))


def _stamp(path: Path) -> Stamp:
    def of(one: Path) -> tuple[int, int, int] | None:
        try:
            stat = one.stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_size, stat.st_mtime_ns

    return of(path), of(path.with_name(f"{path.name}-wal"))


def _folders(app: App, statuses: Iterable[WorkerStatus]) -> set[Path]:
    """Where something changes when a worker does."""
    from prong.workers import wait as worker_folders

    alive = [one.worker for one in statuses if one.state is not WorkerState.GONE]
    return worker_folders.watched(app, alive)


def _inherited(fork: Fork) -> int:
    """A seed is one turn, whatever it tells of."""
    return 1 if fork.method is Method.SEED else fork.parent.turn or 0


def _fork(fork: Fork) -> dict[str, object]:
    return {
        "fork": fork.id,
        "parent": str(fork.parent),
        "child": str(fork.child),
        "method": fork.method.value,
    }
