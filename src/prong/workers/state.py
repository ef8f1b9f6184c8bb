"""What workers do: the evidence is gathered here; `worker_evidence` says what it amounts to.

However many workers there are, each terminal is asked once and each agent is looked at once. A
session id that has moved (/clear, /branch) is followed, and recorded, on the way.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.worker_base import CanWork, HasLastWords, HasTrust, OpenSession
from prong.errors import ProngError
from prong.hook import spool
from prong.log import debug
from prong.model.record import replace
from prong.model.sessions import Activity as Doing
from prong.model.sessions import Session, SessionRef, Turn, TurnState
from prong.model.workers import Evidence, WorkerInfo, WorkerState, WorkerStatus
from prong.storage.activity import ActivityRecords, RecordedActivity, told
from prong.terminals.base import HasExitCodes
from prong.transcripts.acknowledgement import acknowledges_seed
from prong.workers import liveness, push
from prong.workers.evidence import COMMAND, OPENED, WRITTEN, judge
from prong.workers.liveness import Life

if TYPE_CHECKING:
    from prong.app import App

_LOOK_FOR_FILES_EVERY = 1.0
_TELL_APART = timedelta(seconds=1)
"""A hook that was called so shortly before the recorded start still belongs to it."""
_MUCH = 1 << 18
"""Bytes in the spool that are better taken in than read again and again."""
_STATES = {Doing.BUSY: WorkerState.BUSY, Doing.IDLE: WorkerState.IDLE}


def statuses(app: App, workers: Sequence[WorkerInfo]) -> list[WorkerStatus]:
    """What these workers do, with the last words that were said in them."""
    found = described(app, Lookout(app).look(workers))
    _tidy_up(app)
    return found


def described(app: App, found: Sequence[WorkerStatus]) -> list[WorkerStatus]:
    """What was seen, with the last words that were said in them."""
    sessions = _sessions(app, found)
    result = [_with_push(_with_words(app, one, sessions)) for one in found]
    # A terminal is asked for each of them, so not when there are many.
    return [_with_exit_code(app, one) for one in result] if len(result) == 1 else result


def _with_push(status: WorkerStatus) -> WorkerStatus:
    failed = push.failure(status.worker)
    return replace(status, push_failure=failed) if failed else status


class Lookout:
    """Looks at workers, again and again; what does not change between two looks is kept."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._activity = ActivityRecords(app.database)
        self._files: dict[SessionRef, Session] = {}
        self._searched = -_LOOK_FOR_FILES_EVERY
        self._last_turns: dict[str, tuple[tuple[int, int], Turn | None]] = {}
        self._untrusted: dict[tuple[str, Path], bool] = {}
        """Of one look: many workers may be in one folder."""

    def look(self, workers: Sequence[WorkerInfo]) -> list[WorkerStatus]:
        """What they do, in their order, without the words that were said in them."""
        self._untrusted.clear()
        lives = liveness.lives(self._app, workers)
        open_ = self._open(workers, lives)
        heard = self._heard(workers)
        found: list[WorkerStatus] = []
        for worker in workers:
            certain, live = lives[worker.name].certain, open_.get(worker.name)
            if certain is not None and (worker.session or not worker.headless):
                found.append(WorkerStatus(worker, certain))
                continue
            now_at = self._followed(worker, live, heard)
            claims = self._claims(now_at, live, heard.get(_ref(now_at)))
            found.append(WorkerStatus(now_at, certain or judge(claims, datetime.now(UTC))))
        return found

    # -- what it has open --------------------------------------------------------------------

    def _open(
        self, workers: Sequence[WorkerInfo], lives: Mapping[str, Life]
    ) -> dict[str, OpenSession]:
        """What the process of each worker, or one that it started, has open."""
        running: dict[str, dict[str, int]] = defaultdict(dict)
        for worker in workers:
            pid = lives[worker.name].pid
            if pid is not None:
                running[worker.agent][worker.name] = pid
        found: dict[str, OpenSession] = {}
        for agent, pids in running.items():
            store = self._app.stores.get(agent)
            if isinstance(store, CanWork):
                opened = store.open_sessions(pids.values())
                found.update({name: opened[pid] for name, pid in pids.items() if pid in opened})
        return found

    # -- what was heard ----------------------------------------------------------------------

    def _heard(self, workers: Iterable[WorkerInfo]) -> dict[SessionRef, RecordedActivity]:
        """What hooks told of these workers: taken in already, or still in the spool."""
        names = {one.name for one in workers}
        ids = {one.session for one in workers if one.session is not None}
        # In this order: what is taken in meanwhile is then in the table.
        waiting = told(spool.waiting(self._app.state_dir / "spool"))
        found = self._activity.about(ids, names)
        for one in waiting:
            known = found.get(one.session)
            if known is None or one.time >= known.time:
                found[one.session] = one
        return found

    def _followed(
        self,
        worker: WorkerInfo,
        live: OpenSession | None,
        heard: Mapping[SessionRef, RecordedActivity],
    ) -> WorkerInfo:
        """The worker with the session that it has open now."""
        if live is not None:
            new = live.session
        elif worker.headless and worker.session is None:
            new = _headless_session(self._app, worker)
        else:
            spoken_of = _spoken_of(worker, heard)
            others = self._of_others(worker) if spoken_of else ()
            new = next((one for one in spoken_of if one not in others), None)
        if new is None or new == worker.session:
            return worker
        # In another session nothing was asked yet; one that had no name is no other one.
        prompted = worker.prompted if worker.session is None else None
        try:
            changed = self._app.workers.records.change(worker.name, session=new, prompted=prompted)
        except ProngError as error:
            debug(__name__, "the session of %s was not recorded: %s", worker.name, error)
            changed = replace(worker, session=new, prompted=prompted)
        return changed

    def _of_others(self, worker: WorkerInfo) -> set[str | None]:
        """The sessions of other workers: the hooks of a renamed one tell the name of its start."""
        others = (one for one in self._app.workers.records.all() if one.name != worker.name)
        return {one.session for one in others if one.agent == worker.agent}

    # -- claims ------------------------------------------------------------------------------

    def _claims(
        self, worker: WorkerInfo, live: OpenSession | None, heard: RecordedActivity | None
    ) -> list[Evidence]:
        if worker.headless:
            return [Evidence(WorkerState.BUSY, "process", worker.started)]
        claims: list[Evidence] = []
        hook = _hook_claim(worker, heard)
        if hook is not None:
            claims.append(hook)
        if worker.prompted is not None:
            detail = COMMAND if worker.commanded else None
            claims.append(Evidence(WorkerState.BUSY, "prompt", worker.prompted, detail))
        if live is not None:
            claims.append(self._live_claim(worker, live, hook))
        if hook is not None and (live is None or hook.state is WorkerState.WAITING):
            claims += self._written(worker)
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
        if hook is not None and not _is_opening(hook) and _is_after(hook, prompted):
            return Evidence(state, source, since)
        # A program that was just opened says so, too, before it takes its first prompt; and of a
        # very short turn it says nothing at all.
        turn = self._last_turn(worker)
        if turn is None or turn.started is None or turn.ended is None:
            return Evidence(state, source, since, "opened")
        # Its last lines are written a little after its end, so `ended` alone proves nothing.
        was_running = since is not None and min(since, turn.ended) > prompted
        if turn.started <= prompted and not was_running:
            return Evidence(state, source, since, "opened")
        return Evidence(state, source, max(turn.ended, since or turn.ended))

    def _last_turn(self, worker: WorkerInfo) -> Turn | None:
        """The last turn of the session; None while it runs."""
        session = self._file(worker)
        signature = signature_of(session)
        if session is None or signature is None:
            return None
        known = self._last_turns.get(worker.name)
        if known is None or known[0] != signature:
            turns = self._app.store(worker.agent).conversation(session).turns
            is_over = bool(turns) and turns[-1].state is not TurnState.RUNNING
            known = signature, turns[-1] if is_over else None
            self._last_turns[worker.name] = known
        return known[1]

    def _written(self, worker: WorkerInfo) -> list[Evidence]:
        signature = signature_of(self._file(worker))
        if signature is None:
            return []
        written = datetime.fromtimestamp(signature[1] / 1e9, UTC)
        return [Evidence(WorkerState.UNKNOWN, WRITTEN, written)]

    def _file(self, worker: WorkerInfo) -> Session | None:
        """The session's file. One that is not there yet is looked for now and then only."""
        ref = _ref(worker)
        overdue = time.monotonic() - self._searched > _LOOK_FOR_FILES_EVERY
        if ref not in self._files and worker.session is not None and overdue:
            self._files.update({one.ref: one for one in self._app.sessions(worker.agent)})
            self._searched = time.monotonic()
        return self._files.get(ref)

    def _is_in_a_dialog(self, worker: WorkerInfo) -> bool:
        place = (worker.agent, worker.workspace)
        if place not in self._untrusted:
            store = self._app.stores.get(worker.agent)
            asks = isinstance(store, HasTrust) and not store.is_trusted(worker.workspace)
            self._untrusted[place] = asks
        return self._untrusted[place]


def _headless_session(app: App, worker: WorkerInfo) -> str | None:
    from prong.workers import headless

    try:
        return headless.events(app, worker).session_id
    except ProngError:  # its agent is not there any more
        return None


def _spoken_of(worker: WorkerInfo, heard: Mapping[SessionRef, RecordedActivity]) -> list[str]:
    """The sessions that the hooks of a worker spoke of since its own, the last one first.

    An agent that works may have started another one, which has the name of the worker as well.
    """
    own = heard.get(_ref(worker))
    if own is not None and own.state in (WorkerState.BUSY, WorkerState.WAITING):
        return []
    since = own.time if own is not None else worker.started or worker.created
    others = [
        one
        for one in heard.values()
        if one.worker == worker.name and one.session.agent == worker.agent and one.time > since
    ]
    return [one.session.id for one in sorted(others, key=lambda one: one.time, reverse=True)]


def _hook_claim(worker: WorkerInfo, heard: RecordedActivity | None) -> Evidence | None:
    """What a hook told, unless that was of an earlier run."""
    if heard is None or (worker.started and heard.time < worker.started - _TELL_APART):
        return None
    try:
        state = WorkerState(heard.state)
    except ValueError:
        return None
    return Evidence(state, "hook", heard.time, heard.detail)


def _is_opening(claim: Evidence) -> bool:
    return claim.state is WorkerState.IDLE and claim.detail in OPENED


def _is_after(claim: Evidence, moment: datetime) -> bool:
    return claim.time is not None and claim.time > moment


def _ref(worker: WorkerInfo) -> SessionRef:
    return SessionRef(worker.agent, worker.session or "")


def signature_of(session: Session | None) -> tuple[int, int] | None:
    """Changes with the file of a session; None while it has none."""
    try:
        stat = os.stat(session.file) if session else None  # noqa: PTH116 -- looked at often
    except OSError:
        return None
    return (stat.st_size, stat.st_mtime_ns) if stat else None


# -- words ---------------------------------------------------------------------------------------


def _sessions(app: App, found: Iterable[WorkerStatus]) -> dict[SessionRef, Session]:
    """The sessions of workers, from one scan of each agent; of those that start there are none."""
    begun = [one for one in found if one.worker.session and one.state is not WorkerState.STARTING]
    agents = {one.worker.agent for one in begun} & set(app.stores)
    wanted = {_ref(one.worker) for one in begun}
    return {
        session.ref: session
        for agent in agents
        for session in app.sessions(agent)
        if session.ref in wanted
    }


def _with_words(
    app: App, status: WorkerStatus, sessions: Mapping[SessionRef, Session]
) -> WorkerStatus:
    session = sessions.get(_ref(status.worker))
    if session is None:
        return status
    store = app.store(status.worker.agent)
    status = replace(status, turn=session.turn_count)
    if not isinstance(store, HasLastWords):
        return status
    words = store.last_words(session)
    if acknowledges_seed(words.prompt, words.said):
        return status
    lines = [line for line in words.said.splitlines() if line.strip()]
    return replace(status, last_line=lines[-1].strip() if lines else "", last_input=words.prompt)


def _with_exit_code(app: App, status: WorkerStatus) -> WorkerStatus:
    pane = status.worker.pane
    if status.state is not WorkerState.GONE or pane is None:
        return status
    try:
        terminal = app.terminals.of(pane)
        code = terminal.exit_code(pane) if isinstance(terminal, HasExitCodes) else None
    except ProngError as error:
        debug(__name__, "%s does not tell how its program ended: %s", pane, error)
        return status
    return replace(status, exit_code=code)


def _tidy_up(app: App) -> None:
    """Take in what hooks told, when it has become much: whoever only looks at workers also ends it.

    Else it is left to those who want the snapshots in it, because these take git.
    """
    try:
        size = (app.state_dir / "spool" / "events.jsonl").stat().st_size
    except OSError:
        return
    if size > _MUCH:
        app.kept_turns()
