"""Clone a worker or any session: workspace, conversation, settings.

The source is only read, once it is idle. The workspace is copied first, then the session. Right
before the copy of the session appears, the source is checked for a new prompt. If there is one, the
copy is removed and made again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING
from uuid import uuid4

from prong.agents.stores import AgentStores
from prong.code.ignored import IgnoredFiles
from prong.code.worktrees import workspace_copy, worktree
from prong.code.worktrees.journal import Undo
from prong.code.worktrees.workspace_copy import WorkspaceCopy
from prong.config import Config
from prong.errors import Busy, External, ProngError, Taken
from prong.forks.plan import ForkOptions
from prong.forks.workspace_names import name_of, without_fork
from prong.model.forks import Code, Fork, Launch
from prong.model.record import Record, replace
from prong.model.workers import NewSession, WorkerInfo
from prong.workers import names
from prong.workers.launch import environment
from prong.workers.launch.clone_source import CloneOrigin, CloneSources, Moment, Prompted
from prong.workers.launch.start import WorkerStarter
from prong.workers.request import WorkerRequest
from prong.workers.states import WorkerStates

if TYPE_CHECKING:
    from prong.code.service import CodeService
    from prong.forks.service import ForkService

_ATTEMPTS = 5


class _Made(Record, frozen=True):
    """Copy of a workspace, and of its session if it has one."""

    copy: WorkspaceCopy
    launch: Launch
    command: str | tuple[str, ...]
    session: str | None
    fork: Fork | None = None


class WorkerCloner(Record, frozen=True):
    """Copies workers and sessions with their workspaces."""

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
        request = replace(request, headless=origin.headless)
        self.starter.terminal(request)
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
        with self._workspace(origin, self._stem(origin, request.name), ignored=ignored) as (
            copy,
            undo,
        ):
            if before.last is None:
                copied = self._begun(origin, copy)
                self.sources.refuse_prompt(origin, before)
            else:
                copied = self._forked(origin, copy, before)
                if copy.worktree is not None:
                    assert copied.fork is not None
                    worktree.belongs_to(copy.worktree, str(copied.fork.child))
            undo.keep()
            return copied

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
        path, branch = self.forks.workspace_names(workspace_copy.top_of(origin.folder)).free(stem)
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

    def _forked(self, origin: CloneOrigin, copy: WorkspaceCopy, before: Moment) -> _Made:
        worker = origin.worker
        options = ForkOptions(
            into=copy.folder,
            command=worker.command if worker else None,
            env=worker.env if worker else {},
        )
        assert before.session is not None
        try:
            plan = self.forks.plan(origin.path or str(before.session.ref), options)
            self.forks.require_program(plan)
            if plan.point.turn_id != before.last:
                raise Prompted
            fork = self.forks.make(plan, lambda: self.sources.refuse_prompt(origin, before))
        except Busy as error:
            raise Prompted from error
        branch = copy.worktree.branch if copy.worktree else None
        fork = replace(fork, code=Code.NOW, branch=branch)
        assert fork.launch is not None
        command = plan.command or self.stores.named(fork.child.agent).command
        return _Made(copy, fork.launch, command, fork.child.id, fork)

    def _begun(self, origin: CloneOrigin, copy: WorkspaceCopy) -> _Made:
        """Start a new session for the clone of an empty one."""
        command = (origin.worker.command if origin.worker else None) or None
        store = self.stores.named(origin.agent).with_command(command)
        id_ = None if store.chooses_ids else str(uuid4())
        launch = store.begin(NewSession(id_, copy.folder))
        return _Made(copy, launch, command or store.command, id_)

    # -- the clone ---------------------------------------------------------------------------

    def _started(self, origin: CloneOrigin, made: _Made, request: WorkerRequest) -> WorkerInfo:
        while True:
            draft = self._draft(origin, made, request.name)
            try:
                if request.trust:
                    self.starter.trust(origin.agent, made.copy.folder)
                started = self.starter.open_copy(draft, made.launch, request)
            except ProngError as error:
                if isinstance(error, Taken) and request.name is None:
                    continue  # a concurrent start took the generated name
                raise _with_copy(error, made) from None
            fork_warnings = made.fork.warnings if made.fork else ()
            notes = (*made.copy.warnings, *_differences(origin, started))
            return replace(started, warnings=(*fork_warnings, *notes))

    def _draft(self, origin: CloneOrigin, made: _Made, new: str | None) -> WorkerInfo:
        worker, copy = origin.worker, made.copy
        taken = self.states.records.names()
        default_name = names.after(worker.name, taken) if worker else names.made_up(taken)
        draft = WorkerInfo(
            name=new or default_name,
            agent=origin.agent,
            workspace=copy.folder,
            command=made.command,
            created=datetime.now(UTC),
            session=made.session,
            env=environment.stored(worker.env if worker else {}, os.environ),
            worktree=copy.worktree.path if copy.worktree else None,
            branch=copy.worktree.branch if copy.worktree else None,
            fork=made.fork.id if made.fork else None,
            forked_from=worker.name if worker else str(made.fork.parent) if made.fork else None,
        )
        if worker is None:
            return draft
        return replace(
            draft, headless=worker.headless, commit_turns=worker.commit_turns, push=worker.push
        )


def _with_copy(error: ProngError, made: _Made) -> ProngError:
    """Add to an error where the copy is that could not be started."""
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
