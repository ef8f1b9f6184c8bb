"""Source of a clone, and detection of activity in it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from prong.agents.stores import AgentStores
from prong.errors import Busy, NotFound, UsageError
from prong.forks.service import ForkService
from prong.model.record import Record
from prong.model.sessions import Activity, Session
from prong.model.workers import WorkerInfo, WorkerState
from prong.session.service import SessionService
from prong.workers.state import Signature, signature_of
from prong.workers.states import WorkerStates

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

    @property
    def label(self) -> str:
        if self.worker is not None:
            return self.worker.name
        return str(self.session.ref) if self.session else self.agent

    @property
    def headless(self) -> bool:
        return self.worker is not None and self.worker.headless


class Moment(Record, frozen=True):
    """Progress of a source's conversation at one moment."""

    session: Session | None
    signature: Signature | None
    last: str | None
    """Id of the last turn."""


class CloneSources(Record, frozen=True):
    """Finds what to clone, and tells what it does."""

    stores: AgentStores
    sessions: SessionService
    forks: ForkService
    states: WorkerStates

    def find(self, text: str) -> CloneOrigin:
        """Find a worker or session by any of its names."""
        worker = self.states.current(text)
        if worker is not None:
            return self._of_worker(worker)
        resolved = self.sessions.resolve(text)
        if resolved.turn is not None:
            raise UsageError("a clone has all turns", hint=f"prong fork {text}")
        session = resolved.session
        worker = self.forks.planner.worker_of(session)
        if worker is not None:
            return self._of_worker(worker)
        if not session.cwd or not os.path.isdir(session.cwd):
            raise NotFound(
                f"the folder of {session.ref} no longer exists: {session.cwd}",
                hint=f"prong fork {text}",
            )
        path = text if os.path.isfile(text) else None
        return CloneOrigin(session.agent, Path(session.cwd), None, session, path)

    def _of_worker(self, worker: WorkerInfo) -> CloneOrigin:
        session = self.states.session_of(worker)
        return CloneOrigin(worker.agent, worker.workspace, worker, session)

    def now(self, origin: CloneOrigin) -> CloneOrigin:
        """Return an origin with the session that it has open now."""
        worker = self.states.current(origin.worker.name) if origin.worker else None
        return self._of_worker(worker) if worker is not None else origin

    def is_at_work(self, origin: CloneOrigin) -> bool:
        if origin.worker is not None:
            state = self.states.status(origin.worker.name).state
            if state is not WorkerState.UNKNOWN:
                return state not in _AT_REST
        if origin.session is None:
            return False
        return self.stores.named(origin.agent).activity(origin.session) is Activity.BUSY

    def moment(self, origin: CloneOrigin) -> Moment:
        session = origin.session
        # Taken before the file is read, so that lines added meanwhile show as a change.
        signature = signature_of(session)
        turns = self.sessions.turns(session) if session else ()
        return Moment(session, signature, turns[-1].id if turns else None)

    def refuse_prompt(self, origin: CloneOrigin, before: Moment) -> None:
        """Raise `Prompted` if the source is busy, has a new turn or another session."""
        now = self.now(origin)
        is_same = (now.session and now.session.ref) == (before.session and before.session.ref)
        if not is_same or self.is_at_work(now):
            raise Prompted
        if signature_of(now.session) != before.signature and self.moment(now).last != before.last:
            raise Prompted

    def rest(self, timeout: float, waiting: Callable[[str], None] = lambda _: None) -> Rest:
        """Return a wait for idle sources; `waiting` is called with each new reason."""
        return Rest(self, timeout, time.monotonic() + timeout, waiting)


class Rest(Record):
    """Wait for an idle source, with one timeout for several waits."""

    sources: CloneSources
    timeout: float
    end: float
    waiting: Callable[[str], None]
    told: str = ""

    def wait_for(self, origin: CloneOrigin) -> CloneOrigin:
        """Wait until a source is idle; return it with its session. Raises `Busy` on timeout."""
        while True:
            if origin.worker is not None:
                self._wait_for_worker(origin.worker.name)
                origin = self.sources.now(origin)
            if not self.sources.is_at_work(origin):
                return origin
            self._tell(f"{origin.label} is busy")
            if time.monotonic() >= self.end:
                raise self._too_long(origin.label)
            time.sleep(min(_LOOK_EVERY, max(0.0, self.end - time.monotonic())))

    def _wait_for_worker(self, name: str) -> None:
        pause = 0.0
        while True:
            try:
                self.sources.states.wait([name], timeout=pause, until=_AT_REST)
            except Busy:
                # A busy worker may need a person by now.
                status = self.sources.states.status(name)
                wants_a_person = status.state is WorkerState.WAITING
                detail = f" ({status.evidence.detail})" if status.evidence.detail else ""
                self._tell(
                    f"{name} is waiting for input{detail}" if wants_a_person else f"{name} is busy"
                )
                pause = min(_PIECE, self.end - time.monotonic())
                if pause <= 0:
                    raise self._too_long(name, wants_a_person=wants_a_person) from None
            else:
                return

    def _tell(self, reason: str) -> None:
        if reason != self.told:
            self.told = reason
            self.waiting(reason)

    def _too_long(self, label: str, *, wants_a_person: bool = False) -> Busy:
        hint = f"prong attach {label}" if wants_a_person else "a longer --timeout"
        return Busy(
            f"{self.told}, still after {self.timeout:g} s",
            hint=f"{hint}, or: prong fork {label}",
            reason=self.told,
            wants_a_person=wants_a_person,
        )
