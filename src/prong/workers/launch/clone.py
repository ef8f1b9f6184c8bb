"""Clone a worker or any session: workspace, conversation, settings.

The source is only read, once it is idle. The workspace is copied first, then the session. Right
before the copy of the session appears, the source is checked for a new prompt. If there is one, the
copy is removed and made again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from math import inf
from uuid import uuid4

from prong.agents.stores import AgentStores
from prong.code.ignored import IgnoredFiles
from prong.code.service import CodeService
from prong.code.worktrees import workspace_copy, worktree
from prong.code.worktrees.journal import Undo
from prong.code.worktrees.workspace_copy import WorkspaceCopy
from prong.config import Config
from prong.errors import Busy, External, ProngError, Taken
from prong.forks.request import ForkRequest
from prong.forks.service import ForkService
from prong.forks.workspace_names import name_of, without_fork
from prong.model.forks import Code, Fork, Launch
from prong.model.record import Record, replace
from prong.model.workers import NewSession, WorkerInfo
from prong.workers import names
from prong.workers.launch.clone_source import CloneOrigin, CloneSources, Moment, Prompted, Rest
from prong.workers.launch.start import WorkerStarter, draft_of
from prong.workers.request import WorkerRequest
from prong.workers.states import WorkerStates

_ATTEMPTS = 5


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
        rest = Rest(self.sources, timeout, time.monotonic() + timeout, waiting)
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
