"""Current state of workers: gathers the evidence that `prong.workers.evidence` judges.

However many workers there are, each terminal and each agent is queried once. When a worker has
moved to another session (/clear, /branch), its record is updated on the way.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prong.agents.stores import AgentStores
from prong.errors import ProngError
from prong.hook import spool
from prong.log import debug
from prong.model.record import Record, field, replace
from prong.model.sessions import Activity as Doing
from prong.model.sessions import Session, SessionRef, Turn, TurnState
from prong.model.workers import Evidence, OpenSession, WorkerInfo, WorkerState, WorkerStatus
from prong.session.service import SessionService
from prong.storage.activity import ActivityRecords, RecordedActivity, from_events
from prong.storage.workers import WorkerRecords
from prong.workers import headless
from prong.workers.evidence import COMMAND, WRITTEN, judge, turn_end
from prong.workers.liveness import Life, Liveness

_LOOK_FOR_FILES_EVERY = 1.0
_TELL_APART = timedelta(seconds=1)
"""A hook event this shortly before the recorded start still belongs to that run."""
_STATES = {Doing.BUSY: WorkerState.BUSY, Doing.IDLE: WorkerState.IDLE}


Signature = tuple[int, int, int]
"""Size, time and inode of a session's file."""


class Lookout(Record):
    """Repeated status checks that cache what does not change in between."""

    stores: AgentStores
    sessions: SessionService
    records: WorkerRecords
    liveness: Liveness
    files: dict[SessionRef, Session] = field(default_factory=dict[SessionRef, Session])
    searched: float = -_LOOK_FOR_FILES_EVERY
    last_turns: dict[str, tuple[Signature, Turn | None]] = field(
        default_factory=dict[str, tuple[Signature, Turn | None]]
    )
    untrusted: dict[tuple[str, Path], bool] = field(default_factory=dict[tuple[str, Path], bool])
    """Cached during one look: many workers may share a folder."""

    def look(self, workers: Sequence[WorkerInfo]) -> list[WorkerStatus]:
        """Return the status of workers in the given order, without last words."""
        self.untrusted.clear()
        lives = self.liveness.lives(workers)
        open_ = self._open(workers, lives)
        heard = self._heard(workers)
        result: list[WorkerStatus] = []
        for worker in workers:
            certain, live = lives[worker.name].certain, open_.get(worker.name)
            if certain is not None and (worker.session or not worker.headless):
                result.append(WorkerStatus(worker, certain))
                continue
            current = self._followed(worker, live, heard)
            claims = self._claims(current, live, heard.get(_ref(current)))
            result.append(WorkerStatus(current, certain or judge(claims, datetime.now(UTC))))
        return result

    # -- open sessions -----------------------------------------------------------------------

    def _open(
        self, workers: Sequence[WorkerInfo], lives: Mapping[str, Life]
    ) -> dict[str, OpenSession]:
        """Find the session that each worker's process, or its child, has open."""
        running: dict[str, dict[str, int]] = defaultdict(dict)
        for worker in workers:
            pid = lives[worker.name].pid
            if pid is not None:
                running[worker.agent][worker.name] = pid
        result: dict[str, OpenSession] = {}
        for agent, pids in running.items():
            store = self.stores.get(agent)
            if store is not None:
                opened = store.open_sessions(pids.values())
                result.update({name: opened[pid] for name, pid in pids.items() if pid in opened})
        return result

    # -- hook events -------------------------------------------------------------------------

    def _heard(self, workers: Iterable[WorkerInfo]) -> dict[SessionRef, RecordedActivity]:
        """Collect the hook events of these workers, imported or still in the spool."""
        names = {item.name for item in workers}
        ids = {item.session for item in workers if item.session is not None}
        # Read the spool first: events that are imported meanwhile are then in the table.
        spooled = from_events(spool.waiting(self.records.path.parent / "spool"))
        events = ActivityRecords(self.records.path).about(ids, names)
        for item in spooled:
            event = events.get(item.session)
            if event is None or item.time >= event.time:
                events[item.session] = item
        return events

    def _followed(
        self,
        worker: WorkerInfo,
        live: OpenSession | None,
        heard: Mapping[SessionRef, RecordedActivity],
    ) -> WorkerInfo:
        """Return the worker with its current session, and record a change."""
        new = None
        if live is not None:
            new = live.session
        elif worker.headless and worker.session is None:
            with suppress(ProngError):  # its agent is no longer installed
                new = headless.events(self.stores, worker).session_id
        else:
            new = self._heard_session(worker, heard)
        if new is None or new == worker.session:
            return worker
        # Another session has no prompt yet. Learning the first id does not change the session.
        prompted = worker.prompted if worker.session is None else None
        try:
            return self.records.change(worker.name, session=new, prompted=prompted)
        except ProngError as error:
            debug(__name__, "the session of %s was not recorded: %s", worker.name, error)
            return replace(worker, session=new, prompted=prompted)

    def _heard_session(
        self, worker: WorkerInfo, heard: Mapping[SessionRef, RecordedActivity]
    ) -> str | None:
        """Return the newest session in hook events; a turn may have started another agent."""
        own = heard.get(_ref(worker))
        if own is not None and own.state in (WorkerState.BUSY, WorkerState.WAITING):
            return None
        since = own.time if own is not None else worker.started or worker.created
        later = [
            event
            for event in heard.values()
            if event.worker == worker.name
            if event.session.agent == worker.agent and event.time > since
        ]
        if not later:
            return None
        # Hooks of a renamed worker use its old name, which another one may have now.
        others = {
            (other.agent, other.session)
            for other in self.records.all()
            if other.name != worker.name
        }
        ids = [event.session.id for event in sorted(later, key=lambda event: event.time)]
        return next((id_ for id_ in reversed(ids) if (worker.agent, id_) not in others), None)

    # -- claims ------------------------------------------------------------------------------

    def _claims(
        self, worker: WorkerInfo, live: OpenSession | None, heard: RecordedActivity | None
    ) -> list[Evidence]:
        if worker.headless:
            return [Evidence(WorkerState.BUSY, "process", worker.started)]
        hook = _hook_claim(worker, heard)
        claims = [hook] if hook is not None else []
        if worker.prompted is not None:
            detail = COMMAND if worker.commanded else None
            claims.append(Evidence(WorkerState.BUSY, "prompt", worker.prompted, detail))
        if live is not None:
            claims.append(self._live_claim(worker, live, hook))
        if hook is not None and (live is None or hook.state is WorkerState.WAITING):
            signature = signature_of(self._file(worker))
            if signature is not None:
                written = datetime.fromtimestamp(signature[1] / 1e9, UTC)
                claims.append(Evidence(WorkerState.UNKNOWN, WRITTEN, written))
        if live is None and hook is None and self._is_in_a_dialog(worker):
            claims.append(Evidence(WorkerState.WAITING, "dialog", worker.started, "trust"))
        claims.append(Evidence(WorkerState.STARTING, "record", worker.started or worker.created))
        return claims

    def _live_claim(self, worker: WorkerInfo, live: OpenSession, hook: Evidence | None) -> Evidence:
        source, since = live.source, live.since
        if live.waits_for is not None:
            return Evidence(WorkerState.WAITING, source, since, live.waits_for)
        state = _STATES.get(live.activity, WorkerState.UNKNOWN)
        prompted = worker.prompted
        if state is not WorkerState.IDLE or source == "lock" or prompted is None:
            return Evidence(state, source, since)
        if hook is not None and turn_end(hook) > prompted:
            return Evidence(state, source, since)
        # An agent that was just opened is also idle before its first prompt, and the registry never
        # shows a very short turn as busy.
        turn = self._last_turn(worker)
        if turn is None or turn.started is None or turn.ended is None:
            return Evidence(state, source, since, "opened")
        # The last lines are written slightly after the end, so `ended` alone proves nothing.
        was_running = since is not None and min(since, turn.ended) > prompted
        if turn.started <= prompted and not was_running:
            return Evidence(state, source, since, "opened")
        return Evidence(state, source, max(turn.ended, since or turn.ended))

    def _last_turn(self, worker: WorkerInfo) -> Turn | None:
        """Return the last turn of the session; None while it runs."""
        session = self._file(worker)
        signature = signature_of(session)
        if session is None or signature is None:
            return None
        cached = self.last_turns.get(worker.name)
        if cached is None or cached[0] != signature:
            turns = self.stores[worker.agent].conversation(session).turns
            is_over = bool(turns) and turns[-1].state is not TurnState.RUNNING
            cached = signature, turns[-1] if is_over else None
            self.last_turns[worker.name] = cached
        return cached[1]

    def _file(self, worker: WorkerInfo) -> Session | None:
        """Return the session with its file; a missing one is searched for only now and then."""
        ref = _ref(worker)
        overdue = time.monotonic() - self.searched > _LOOK_FOR_FILES_EVERY
        if ref not in self.files and worker.session is not None and overdue:
            self.files.update({item.ref: item for item in self.sessions.all(worker.agent)})
            self.searched = time.monotonic()
        return self.files.get(ref)

    def _is_in_a_dialog(self, worker: WorkerInfo) -> bool:
        place = (worker.agent, worker.workspace)
        if place not in self.untrusted:
            store = self.stores.get(worker.agent)
            asks = store is not None and not store.is_trusted(worker.workspace)
            self.untrusted[place] = asks
        return self.untrusted[place]


def _hook_claim(worker: WorkerInfo, heard: RecordedActivity | None) -> Evidence | None:
    if heard is None or (worker.started and heard.time < worker.started - _TELL_APART):
        return None
    try:
        state = WorkerState(heard.state)
    except ValueError:
        return None
    return Evidence(state, "hook", heard.time, heard.detail)


def _ref(worker: WorkerInfo) -> SessionRef:
    return SessionRef(worker.agent, worker.session or "")


def signature_of(session: Session | None) -> Signature | None:
    """Return a value that changes with a session's file; None if it has no file."""
    try:
        stat = os.stat(session.file) if session else None  # noqa: PTH116 -- looked at often
    except OSError:
        return None
    return (stat.st_size, stat.st_mtime_ns, stat.st_ino) if stat else None
