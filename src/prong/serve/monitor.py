"""Worker monitor: polls all workers, also when files change, and sends events."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
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
from prong.workers.service import WorkerService
from prong.workers.state import Lookout

_SLOW_POLL = 1.0
"""Seconds between polls: no file changes when a pane is closed."""
_FIRST_LOOK = 5.0
"""Maximum seconds that startup waits for the first poll. Requests work without it."""
_LISTEN = 1.0
"""Seconds between checks that a waiting client is still connected."""
_TIDY_UP = 60.0
_DOUBT = 0.3
"""Seconds after a worker ended in which it may still be recorded as stopped."""
_PAUSE = (0.03, 0.25)
"""Minimum and maximum seconds between two polls; within these limits, as long as a poll takes."""
_HEADLESS_POLL = 0.25
"""Poll interval of busy headless workers: no file changes when their process ends."""

_log = logging.getLogger(__name__)
Statuses = Mapping[str, WorkerStatus]
Stamp = tuple[tuple[int, int, int] | None, ...]


class Monitor:
    """Status of all workers. One thread polls; request threads read what it found."""

    def __init__(self, opened: Callable[[], App], events: Events) -> None:
        self._opened = opened
        self._events = events
        self._wanted = Event()
        self._over = False
        self._known = Condition()
        """Held while events are sent and statuses change, so that both are seen together."""
        self._statuses: Statuses = {}
        self._seen: Statuses = {}
        self._glance: dict[str, object] = {}
        self._tidied = time.monotonic()
        self._due = 0.0
        """Time of the next poll, for changes that touch no file."""
        self._doubtful: dict[str, float] = {}
        """Workers whose program ended, and when that was noticed."""
        self._begun = 0
        self._done = 0
        self._thread = Thread(target=self._run, name="monitor", daemon=True)
        self._watch = Watch(self._wanted.set, _is_of_interest)
        self._forks: set[str] | None = None
        self._inherited: dict[str, int] = {}
        """Number of turns that the sessions of forks inherited."""
        self._stamp: Stamp = ()

    def start(self) -> None:
        """Start polling. Workers that already exist cause no events."""
        self._watch.start()
        self._thread.start()
        with self._known:
            self._known.wait_for(lambda: self._done, _FIRST_LOOK)

    def stop(self) -> None:
        """Stop polling, and wake all waiting requests with an error."""
        self._over = True
        self._watch.stop()
        self._wanted.set()
        with self._known:
            self._known.notify_all()

    def wake(self) -> None:
        """Poll soon, because something may have changed."""
        self._wanted.set()

    @property
    def statuses(self) -> Statuses:
        """Statuses of the last poll."""
        return self._statuses

    def look(self, is_gone: Callable[[], bool] = lambda: False) -> Statuses:
        """Return statuses from a poll that starts after this call."""
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
        """Wait until all workers (or any) are in one of the states or gone, or the time is up.

        The value is None for a worker that was removed meanwhile.
        """
        end = time.monotonic() + timeout
        statuses = self.look(is_gone)
        for name in names:
            if name not in statuses:
                raise NotFound(f"no worker named {name}", hint="prong ps")
        enough = any if any_ else all
        with self._known:
            while True:
                result = {name: self._statuses.get(name) for name in names}
                remaining = end - time.monotonic()
                if enough(_is_there(status, until) for status in result.values()) or remaining <= 0:
                    return result
                self._listen(min(remaining, _LISTEN), is_gone)

    @contextmanager
    def listening(self) -> Generator[tuple[Listener, Statuses]]:
        """Yield a listener for all events from now on, and the statuses at this moment."""
        with self._known:
            context = self._events.listening()
            listener = context.__enter__()
            start = listener, self._statuses
        try:
            yield start
        finally:
            context.__exit__(None, None, None)

    def _listen(self, seconds: float, is_gone: Callable[[], bool]) -> None:
        self._known.wait(seconds)
        self.check(is_gone)

    def check(self, is_gone: Callable[[], bool]) -> None:
        """Raise if the daemon is stopping or the client is gone."""
        if self._over:
            raise Unavailable("the daemon is ending", hint="try again")
        if is_gone():
            raise ClientDisconnect

    # -- polling -------------------------------------------------------------------------------

    def _run(self) -> None:
        with self._opened() as app:
            workers = app.workers
            lookout = workers.states.lookout()
            while not self._over:
                self._wanted.wait(max(self._due - time.monotonic(), 0.0))
                self._wanted.clear()
                start = time.monotonic()
                try:
                    self._look(workers, lookout, app.recorded_forks)
                    self._tidy_up(workers)
                except ProngError as error:
                    # A database locked for too long, or a terminal that does not respond.
                    _log.warning("the workers could not be looked at: %s", error.message)
                    self._due = start + _SLOW_POLL
                except Exception:  # noqa: BLE001 -- the next look may be better
                    _log.exception("the workers could not be looked at")
                    self._due = start + _SLOW_POLL
                duration = time.monotonic() - start
                time.sleep(min(max(duration, _PAUSE[0]), _PAUSE[1]))

    def _look(
        self, workers: WorkerService, lookout: Lookout, recorded: Callable[[], list[Fork]]
    ) -> None:
        with self._known:
            self._begun += 1
            number = self._begun
        current = [status for status in lookout.look(workers.records.all()) if _is_made(status)]
        self._due = time.monotonic() + min(map(_patience, current), default=_SLOW_POLL)
        states = {status.worker.name: _gist(status) for status in current}
        # Only for these workers, because reading the last line takes longer.
        new = [
            status for status in current if self._glance.get(status.worker.name) != _gist(status)
        ]
        details = {status.worker.name: status for status in workers.states.described(new)}
        merged = {**self._seen, **details}
        self._seen = {name: merged[name] for name in states}
        statuses = self._believed(self._seen)
        forks = self._new_forks(recorded, workers.records.path)
        alive = [item.worker for item in statuses.values() if item.state is not WorkerState.GONE]
        self._watch.watch(workers.states.watched(alive))
        with self._known:
            if self._done:
                for fork in forks:
                    self._events.tell("fork_created", **_fork(fork))
                for event, fields in changes(self._statuses, statuses, self._inherited):
                    self._events.tell(event, **fields)
            self._statuses, self._glance = statuses, states
            self._done = number
            self._known.notify_all()

    def _tidy_up(self, workers: WorkerService) -> None:
        """List workers now and then, which takes in hook reports if nobody else lists them."""
        now = time.monotonic()
        if now - self._tidied > _TIDY_UP and self._statuses:
            self._tidied = now
            workers.states.all()

    def _believed(self, found: Statuses) -> Statuses:
        """Hold back a worker that just ended: a moment later it may be recorded as stopped."""
        now, before = time.monotonic(), self._statuses
        ended = {
            name
            for name, status in found.items()
            if status.state is WorkerState.GONE and status.worker.stopped is None
            if name in before and before[name].state is not WorkerState.GONE
        }
        self._doubtful = {name: self._doubtful.get(name, now) for name in ended}
        held = {name for name, since in self._doubtful.items() if now - since < _DOUBT}
        if held:
            self._wanted.set()
        return {name: before[name] if name in held else status for name, status in found.items()}

    def _new_forks(self, recorded: Callable[[], list[Fork]], database: Path) -> list[Fork]:
        """Return forks recorded since the last poll. Reads the database only after a change."""
        stamp = _stamp(database)
        if stamp == self._stamp:
            return []
        forks = recorded()
        previous, self._forks = self._forks, {fork.id for fork in forks}
        self._inherited = {fork.child.id: _inherited(fork) for fork in forks}
        self._stamp = stamp
        return [fork for fork in forks if fork.id not in previous] if previous is not None else []


def _patience(status: WorkerStatus) -> float:
    """Return after how many seconds a worker must be polled, even if no file changes."""
    if status.evidence.detail == ENDING and status.evidence.time is not None:
        # The agent reported idle, which counts once this time has passed.
        remaining = status.evidence.time + SETTLED - datetime.now(UTC)
        return min(max(remaining.total_seconds(), 0.0), _SLOW_POLL)
    if status.worker.headless and status.state is WorkerState.BUSY:
        return _HEADLESS_POLL
    return _SLOW_POLL


def _is_made(status: WorkerStatus) -> bool:
    """Return False for a reserved name, whose worker has not been started yet."""
    worker = status.worker
    return any((worker.started, worker.pane, worker.process))


def _gist(status: WorkerStatus) -> object:
    """Return what counts as news. An idle worker may have been busy between two polls."""
    since = status.evidence.time if status.state is WorkerState.IDLE else None
    return status.worker, status.state, since


def _is_there(status: WorkerStatus | None, until: Collection[WorkerState]) -> bool:
    return status is None or status.state in until or status.state is WorkerState.GONE


def _is_of_interest(path: str) -> bool:
    """Ignore files that opening state.db creates. Records are first written to its WAL."""
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


def _inherited(fork: Fork) -> int:
    """Count the turns that a fork inherited. A seed is one turn, however long."""
    return 1 if fork.method is Method.SEED else fork.parent.turn or 0


def _fork(fork: Fork) -> dict[str, object]:
    return {
        "fork": fork.id,
        "parent": str(fork.parent),
        "child": str(fork.child),
        "method": fork.method.value,
    }
