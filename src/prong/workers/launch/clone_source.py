"""Source of a clone, and detection of activity in it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
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


class Moment(Record, frozen=True):
    """Progress of a source's conversation at one moment."""

    session: Session | None
    signature: Signature | None
    last: str | None
    """Id of the last turn."""


class CloneSources(Record, frozen=True):
    stores: AgentStores
    sessions: SessionService
    forks: ForkService
    states: WorkerStates

    def find(self, text: str) -> CloneOrigin:
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


class Rest(Record):
    """Wait for an idle source, with one timeout for several waits."""

    sources: CloneSources
    timeout: float
    end: float
    waiting: Callable[[str], None]
    """Called with each new reason."""
    reason: str = ""

    def wait_for(self, origin: CloneOrigin) -> CloneOrigin:
        """Wait until a source is idle; return it with its session. Raises `Busy` on timeout."""
        sources, pause = self.sources, 0.0
        while True:
            if origin.worker is not None:
                with suppress(Busy):
                    sources.states.wait([origin.worker.name], timeout=pause, until=_AT_REST)
                origin = sources.now(origin)
            if not sources.is_at_work(origin):
                return origin
            status = sources.states.status(origin.worker.name) if origin.worker else None
            reason = f"{origin.label} is busy"
            wants_a_person = status is not None and status.state is WorkerState.WAITING
            if status is not None and wants_a_person:
                detail = f" ({status.evidence.detail})" if status.evidence.detail else ""
                reason = f"{origin.label} is waiting for input{detail}"
            if reason != self.reason:
                self.reason = reason
                self.waiting(reason)
            left = self.end - time.monotonic()
            if left <= 0:
                hint = f"prong attach {origin.label}" if wants_a_person else "a longer --timeout"
                raise Busy(
                    f"{reason}, still after {self.timeout:g} s",
                    hint=f"{hint}, or: prong fork {origin.label}",
                    reason=reason,
                    wants_a_person=wants_a_person,
                )
            pause = min(_PIECE, left)
            if status is None or status.state in _AT_REST:
                time.sleep(min(_LOOK_EVERY, left))
