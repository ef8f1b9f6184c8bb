"""Clone a worker or any session: workspace, conversation, settings.

The source is only read, once it is idle. The workspace is copied first, then the session. Right
before the copy of the session appears, the source is checked for a new prompt. If there is one, the
copy is removed and made again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from uuid import uuid4

from prong.agents.stores import AgentStores
from prong.code.ignored import IgnoredFiles
from prong.code.service import CodeService
from prong.code.worktrees import workspace_copy, worktree
from prong.code.worktrees.journal import Undo
from prong.code.worktrees.workspace_copy import WorkspaceCopy
from prong.config import Config
from prong.errors import Busy, External, NotFound, ProngError, Taken, UsageError
from prong.forks.request import ForkRequest
from prong.forks.service import ForkService
from prong.forks.workspace_names import name_of, without_fork
from prong.model.forks import Code, Fork, Launch
from prong.model.record import Record, replace
from prong.model.sessions import Activity, Session
from prong.model.workers import NewSession, WorkerInfo, WorkerState
from prong.session.service import SessionService
from prong.workers import names
from prong.workers.launch.start import WorkerStarter, draft_of
from prong.workers.request import WorkerRequest
from prong.workers.state import Signature, signature_of
from prong.workers.states import WorkerStates

_ATTEMPTS = 5
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

    def rest(self, timeout: float, waiting: Callable[[str], None] = lambda _: None) -> Rest:
        return Rest(self, timeout, time.monotonic() + timeout, waiting)


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


class _Made(Record, frozen=True):
    """Copy of a workspace, and of its session if it has one."""

    copy: WorkspaceCopy
    draft: WorkerInfo
    launch: Launch
    fork: Fork | None = None


class WorkerCloner(Record, frozen=True):
    stores: AgentStores
    code: CodeService
    forks: ForkService
    states: WorkerStates
    starter: WorkerStarter
    sources: CloneSources
    settings: Config

    def clone(
        self,
        source: str,
        request: WorkerRequest | None = None,
        *,
        ignored: bool = True,
        timeout: float = inf,
        waiting: Callable[[str], None] = lambda _: None,
    ) -> WorkerInfo:
        """Copy a worker or session with its workspace once it is idle, and run the copy.

        The request has the name of the copy, its pane, and whether to trust its folder. With
        `ignored`, ignored files are copied, too. `waiting` is called with the reason when the wait
        starts, and when the reason changes. Raises `Busy` on timeout; nothing is created in that
        case.
        """
        request = request or WorkerRequest()
        origin = self.sources.find(source)
        self.starter.refuse_name(request.name)
        if origin.worker is not None:
            worker = origin.worker
            request = replace(
                request,
                command=worker.command or None,
                headless=worker.headless,
                commit_turns=worker.commit_turns,
                push=worker.push,
            )
        self.starter.terminal(request)  # fail before anything is created
        rest = self.sources.rest(timeout, waiting)
        collision: Taken | None = None
        for _ in range(_ATTEMPTS):
            origin = rest.wait_for(origin)
            try:
                copied = self._made(origin, request, ignored=ignored)
            except Prompted:
                continue
            except Taken as error:
                collision = error  # a concurrent clone took the workspace's name
                continue
            return self._started(origin, copied, request)
        if collision is not None:
            raise collision
        raise Busy(
            f"{origin.label} got a new prompt during every attempt to copy it",
            hint=f"prong clone {source} when it is idle, or: prong fork {source}",
        )

    # -- the copy ----------------------------------------------------------------------------

    def _made(self, origin: CloneOrigin, request: WorkerRequest, *, ignored: bool) -> _Made:
        before = self.sources.moment(origin)
        source = replace(request, env=origin.worker.env if origin.worker else {})
        with self._workspace(origin, self._stem(origin, request.name), ignored=ignored) as (
            copy,
            undo,
        ):
            if before.last is None:
                made = self._begun(origin, copy, source)
                self.sources.refuse_prompt(origin, before)
            else:
                made = self._forked(origin, copy, before, source)
            undo.keep()
            return made

    def _stem(self, origin: CloneOrigin, new: str | None) -> str:
        """Return the stem of the workspace's name: the clone's name, or the session's title."""
        if new is None and origin.worker is not None:
            return names.after(origin.worker.name, self.states.records.names())
        return name_of(new, without_fork(origin.session.title) if origin.session else None)

    @contextmanager
    def _workspace(
        self, origin: CloneOrigin, stem: str, *, ignored: bool
    ) -> Generator[tuple[WorkspaceCopy, Undo]]:
        settings = self.settings.workspace
        path, branch = self.forks.workspaces.names(workspace_copy.top_of(origin.folder)).free(stem)
        with Undo(self.code.worktrees.root) as undo:
            try:
                copy = workspace_copy.copy(
                    origin.folder,
                    path.name,
                    undo,
                    branch=branch,
                    ignored=ignored,
                    brought=IgnoredFiles(copy=settings.copy, link=settings.link),
                    limit=self.settings.snapshots.limit,
                )
            except OSError as error:
                where = f": {error.filename}" if error.filename else ""
                raise External(f"cannot copy the workspace: {error.strerror}{where}") from error
            try:
                yield copy, undo
            except (ProngError, Prompted):
                raise  # no session was created in it
            except BaseException:
                # Interrupted by the user. A session that exists already needs its folder.
                if self.code.worktrees.is_used(copy.path):
                    undo.keep()
                raise

    def _forked(
        self, origin: CloneOrigin, copy: WorkspaceCopy, before: Moment, request: WorkerRequest
    ) -> _Made:
        options = ForkRequest(into=copy.folder, command=request.command, env=request.env)
        assert before.session is not None
        try:
            plan = self.forks.plan(origin.path or str(before.session.ref), options)
            self.forks.planner.require_program(plan)
            if plan.point.turn_id != before.last:
                raise Prompted
            fork = self.forks.make(plan, lambda: self.sources.refuse_prompt(origin, before))
        except Busy as error:
            raise Prompted from error
        branch = copy.worktree.branch if copy.worktree else None
        fork = replace(fork, code=Code.NOW, branch=branch)
        if copy.worktree is not None:
            worktree.belongs_to(copy.worktree, str(fork.child))
        assert fork.launch is not None
        request = replace(request, command=plan.command)
        source = origin.worker.name if origin.worker else None
        return _Made(copy, self.starter.fork_draft(fork, request, source), fork.launch, fork)

    def _begun(self, origin: CloneOrigin, copy: WorkspaceCopy, request: WorkerRequest) -> _Made:
        store = self.stores.named(origin.agent).with_command(request.command)
        id_ = None if store.chooses_ids else str(uuid4())
        launch = store.begin(NewSession(id_, copy.folder))
        draft = draft_of(
            request, request.name or "", origin.agent, request.command or store.command, copy.folder
        )
        draft = replace(
            draft,
            session=id_,
            worktree=copy.worktree.path if copy.worktree else None,
            branch=copy.worktree.branch if copy.worktree else None,
            forked_from=origin.worker.name if origin.worker else None,
        )
        return _Made(copy, draft, launch)

    def _started(self, origin: CloneOrigin, made: _Made, request: WorkerRequest) -> WorkerInfo:
        try:
            if request.trust:
                self.starter.trust(origin.agent, made.copy.folder)
            started = self.starter.open(made.draft, made.launch, request, asked=False)
        except ProngError as error:
            raise _with_copy(error, made) from None
        fork_warnings = made.fork.warnings if made.fork else ()
        notes = (*made.copy.warnings, *_differences(origin, started))
        return replace(started, warnings=(*fork_warnings, *notes))


def _with_copy(error: ProngError, made: _Made) -> ProngError:
    if made.fork is not None:
        error.message += f"; the copy is there: {made.fork.child}"
        error.hint = f"prong run --resume {made.fork.child}"
    else:
        error.message += f"; the copy is in {made.copy.folder}"
    error.details["workspace"] = str(made.copy.folder)
    return error


def _differences(origin: CloneOrigin, started: WorkerInfo) -> list[str]:
    """List what has changed since the source was started."""
    worker = origin.worker
    if worker is None:
        return []
    notes: list[str] = []
    if worker.version and started.version and worker.version != started.version:
        notes.append(
            f"{worker.name} was started with {worker.agent} {worker.version}, "
            f"the clone with {started.version}"
        )
    if worker.settings_hash and started.settings_hash != worker.settings_hash:
        notes.append(f"the settings of {worker.agent} have changed since {worker.name} was started")
    return notes
