"""Source of a clone, and detection of activity in it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from prong.errors import Busy, NotFound, UsageError
from prong.forks import plan
from prong.model.record import Record
from prong.model.sessions import Activity, Session
from prong.model.workers import WorkerInfo, WorkerState

if TYPE_CHECKING:
    from prong.app import App

_LOOK_EVERY = 0.2
_PIECE = 1.0
"""Seconds between checks why a worker is not idle."""
_AT_REST = frozenset({WorkerState.IDLE, WorkerState.GONE, WorkerState.UNKNOWN})
"""For an unknown state, the session itself is checked."""


class Prompted(Exception):
    """Raised when the source gets a prompt during the copy."""


class CloneOrigin(Record, frozen=True):
    """Worker or session to clone."""

    agent: str
    folder: Path
    worker: WorkerInfo | None = None
    """None for a session that prong did not start."""
    session: Session | None = None
    """None before the first prompt."""
    path: str | None = None
    """Session file, if one was named instead of a session."""

    @classmethod
    def find(cls, app: App, text: str) -> CloneOrigin:
        worker = app.workers.current(text)
        if worker is not None:
            return cls.of_worker(app, worker)
        resolved = app.sessions.resolve(text)
        if resolved.turn is not None:
            raise UsageError("a clone has all turns", hint=f"prong fork {text}")
        session = resolved.session
        worker = plan.worker_of(app, session)
        if worker is not None:
            return cls.of_worker(app, worker)
        if not session.cwd or not Path(session.cwd).is_dir():
            raise NotFound(
                f"the folder of {session.ref} no longer exists: {session.cwd}",
                hint=f"prong fork {text}",
            )
        path = text if os.path.isfile(text) else None  # noqa: PTH113 (it may be anything)
        return cls(session.agent, Path(session.cwd), None, session, path)

    @classmethod
    def of_worker(cls, app: App, worker: WorkerInfo) -> CloneOrigin:
        fitting = (item for item in app.sessions.all(worker.agent) if item.id == worker.session)
        return cls(worker.agent, worker.workspace, worker, next(fitting, None))

    def now(self, app: App) -> CloneOrigin:
        """Return this origin with the session that it has open now."""
        if self.worker is None:
            return self
        worker = app.workers.current(self.worker.name)
        return self.of_worker(app, worker) if worker is not None else self

    @property
    def label(self) -> str:
        if self.worker is not None:
            return self.worker.name
        return str(self.session.ref) if self.session else self.agent

    @property
    def headless(self) -> bool:
        return self.worker is not None and self.worker.headless

    def is_at_work(self, app: App) -> bool:
        if self.worker is not None:
            state = app.workers.status(self.worker.name).state
            if state is not WorkerState.UNKNOWN:
                return state not in _AT_REST
        return self.is_at_work_on_session(app)

    def is_at_work_on_session(self, app: App) -> bool:
        if self.session is None:
            return False
        return app.store(self.agent).activity(self.session) is Activity.BUSY


class Rest:
    """Wait for an idle source, with one timeout for several waits."""

    def __init__(self, app: App, timeout: float, waiting: Callable[[str], None]) -> None:
        self._app = app
        self._timeout = timeout
        self._end = time.monotonic() + timeout
        self._waiting = waiting
        self._told = ""

    def wait_for(self, origin: CloneOrigin) -> CloneOrigin:
        while True:
            if origin.worker is not None:
                self._wait_for_worker(origin.worker.name)
                origin = origin.now(self._app)
            if not origin.is_at_work(self._app):
                return origin
            self._tell(f"{origin.label} is busy")
            if time.monotonic() >= self._end:
                raise self._too_long(origin.label)
            time.sleep(min(_LOOK_EVERY, max(0.0, self._end - time.monotonic())))

    def _wait_for_worker(self, name: str) -> None:
        pause = 0.0
        while True:
            try:
                self._app.workers.wait([name], timeout=pause, until=_AT_REST)
            except Busy:
                # A busy worker may need a person by now.
                status = self._app.workers.status(name)
                wants_a_person = status.state is WorkerState.WAITING
                detail = f" ({status.evidence.detail})" if status.evidence.detail else ""
                self._tell(
                    f"{name} is waiting for input{detail}" if wants_a_person else f"{name} is busy"
                )
                pause = min(_PIECE, self._end - time.monotonic())
                if pause <= 0:
                    raise self._too_long(name, wants_a_person=wants_a_person) from None
            else:
                return

    def _tell(self, reason: str) -> None:
        if reason != self._told:
            self._told = reason
            self._waiting(reason)

    def _too_long(self, label: str, *, wants_a_person: bool = False) -> Busy:
        hint = f"prong attach {label}" if wants_a_person else "a longer --timeout"
        return Busy(
            f"{self._told}, still after {self._timeout:g} s",
            hint=f"{hint}, or: prong fork {label}",
            reason=self._told,
            wants_a_person=wants_a_person,
        )


class Moment(Record, frozen=True):
    """Progress of a source's conversation at one moment."""

    session: Session | None
    signature: tuple[int, int, int] | None
    last: str | None
    """Id of the last turn."""

    @classmethod
    def of(cls, app: App, origin: CloneOrigin) -> Moment:
        session = origin.session
        # Taken before the file is read, so that lines added meanwhile show as a change.
        signature = _signature(session)
        turns = app.store(origin.agent).conversation(session).turns if session else ()
        return cls(session, signature, turns[-1].id if turns else None)

    def refuse_prompt(self, app: App, origin: CloneOrigin) -> None:
        """Raise `Prompted` if the source is busy, has a new turn or another session."""
        now = origin.now(app)
        is_same = (now.session and now.session.ref) == (self.session and self.session.ref)
        if not is_same or now.is_at_work(app):
            raise Prompted
        if _signature(now.session) != self.signature and Moment.of(app, now).last != self.last:
            raise Prompted


def _signature(session: Session | None) -> tuple[int, int, int] | None:
    try:
        stat = session.path.stat() if session else None
    except OSError:
        return None
    return (stat.st_size, stat.st_mtime_ns, stat.st_ino) if stat else None
