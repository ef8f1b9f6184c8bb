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
from typing import TYPE_CHECKING, TypedDict
from uuid import uuid4

from prong.code.ignored import IgnoredFiles
from prong.code.worktrees import workspace_copy, worktree
from prong.code.worktrees.journal import Undo
from prong.code.worktrees.workspace_copy import WorkspaceCopy
from prong.errors import Busy, External, ProngError, Taken
from prong.forks import make
from prong.forks import plan as planning
from prong.forks.plan import ForkOptions
from prong.forks.workspace_names import WorkspaceNames, name_of, without_fork
from prong.model.forks import Code, Fork, Launch
from prong.model.record import Record, replace
from prong.model.workers import NewSession, Placement, WorkerInfo
from prong.workers import names
from prong.workers.launch import environment, start
from prong.workers.launch.clone_source import CloneOrigin, Moment, Prompted, Rest

if TYPE_CHECKING:
    from prong.app import App

_ATTEMPTS = 5


class CloneArguments(TypedDict, total=False):
    """Options of a clone."""

    ignored: bool
    """Copy ignored files, too."""
    timeout: float
    """Seconds to wait until the source is idle."""
    waiting: Callable[[str], None]
    """Called with the reason when the wait starts, and when the reason changes."""
    trust: bool
    """Mark the copy as trusted in the agent's own settings."""
    terminal: str | None
    place: Placement | None


def _nobody(_: str) -> None:
    """Callback that does nothing."""


def clone(  # noqa: PLR0913 -- all but the first three by name
    app: App,
    source: str,
    new: str | None = None,
    *,
    ignored: bool = True,
    timeout: float = inf,
    waiting: Callable[[str], None] = _nobody,
    trust: bool = False,
    terminal: str | None = None,
    place: Placement | None = None,
) -> WorkerInfo:
    """Copy a worker or session once it is idle, and run the copy.

    Raises `Busy` on timeout; nothing is created in that case.
    """
    origin = CloneOrigin.find(app, source)
    check_name(app, new)
    if not origin.headless:
        app.terminals.for_worker(terminal)  # fail before anything is created
    waiter = Rest(app, timeout, waiting)
    collision: Taken | None = None
    for _ in range(_ATTEMPTS):
        origin = waiter.wait_for(origin)
        try:
            copied = _made(app, origin, _called(app, origin, new), ignored=ignored)
        except Prompted:
            continue
        except Taken as error:
            collision = error  # a concurrent clone took the workspace's name
            continue
        if trust:
            _trust(app, origin, copied)
        return _started(app, origin, copied, new, terminal, place)
    if collision is not None:
        raise collision
    raise Busy(
        f"{origin.label} got a new prompt during every attempt to copy it",
        hint=f"prong clone {source} when it is idle, or: prong fork {source}",
    )


# -- the copy -------------------------------------------------------------------------------------


class _Made(Record, frozen=True):
    """Copy of a workspace, and of its session if it has one."""

    copy: WorkspaceCopy
    launch: Launch
    command: str | tuple[str, ...]
    session: str | None
    fork: Fork | None = None


def _called(app: App, origin: CloneOrigin, new: str | None) -> str:
    """Return the stem of the workspace's name: the clone's name, or the session's title."""
    if new is None and origin.worker is not None:
        return names.after(origin.worker.name, {item.name for item in app.workers.records.all()})
    return name_of(new, without_fork(origin.session.title) if origin.session else None)


def _made(app: App, origin: CloneOrigin, called: str, *, ignored: bool) -> _Made:
    before = Moment.of(app, origin)
    with _workspace(app, origin, called, ignored=ignored) as (copy, undo):
        if before.last is None:
            copied = _begun(app, origin, copy)
            before.refuse_prompt(app, origin)
            undo.keep()
            return copied
        copied = _forked(app, origin, copy, before)
        if copy.worktree is not None:
            assert copied.fork is not None
            worktree.belongs_to(copy.worktree, str(copied.fork.child))
        undo.keep()
        return copied


@contextmanager
def _workspace(
    app: App, origin: CloneOrigin, called: str, *, ignored: bool
) -> Generator[tuple[WorkspaceCopy, Undo]]:
    settings = app.settings.workspace
    path, branch = WorkspaceNames(app, workspace_copy.top_of(origin.folder)).free(called)
    with Undo(app.worktrees_root) as undo:
        try:
            copy = workspace_copy.copy(
                origin.folder,
                path.name,
                undo,
                branch=branch,
                ignored=ignored,
                brought=IgnoredFiles(copy=settings.copy, link=settings.link),
                limit=app.settings.snapshots.limit,
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
            if app.code.worktrees.is_used(copy.path):
                undo.keep()
            raise


def _forked(app: App, origin: CloneOrigin, copy: WorkspaceCopy, before: Moment) -> _Made:
    worker = origin.worker
    options = ForkOptions(
        into=copy.folder,
        command=worker.command if worker else None,
        env=worker.env if worker else {},
    )
    assert before.session is not None
    try:
        plan = app.forks.plan(origin.path or str(before.session.ref), options)
        planning.require_program(app, plan)
        if plan.point.turn_id != before.last:
            raise Prompted
        fork = make.fork(app, plan, lambda: before.refuse_prompt(app, origin))
    except Busy as error:
        raise Prompted from error
    branch = copy.worktree.branch if copy.worktree else None
    fork = replace(fork, code=Code.NOW, branch=branch)
    assert fork.launch is not None
    store = app.store(fork.child.agent)
    return _Made(copy, fork.launch, plan.command or store.command, fork.child.id, fork)


def _begun(app: App, origin: CloneOrigin, copy: WorkspaceCopy) -> _Made:
    """Start a new session for the clone of an empty one."""
    worker = origin.worker
    command = (worker.command if worker else None) or None
    store = app.store(origin.agent).with_command(command)
    id_ = None if store.chooses_ids else str(uuid4())
    launch = store.begin(NewSession(id_, copy.folder))
    return _Made(copy, launch, command or store.command, id_)


# -- the clone ------------------------------------------------------------------------------------


def _started(
    app: App,
    origin: CloneOrigin,
    made: _Made,
    new: str | None,
    terminal: str | None,
    place: Placement | None,
) -> WorkerInfo:
    while True:
        draft = _draft(app, origin, made, new)
        try:
            started = start.open_copy(app, draft, made.launch, terminal, place)
        except ProngError as error:
            if isinstance(error, Taken) and new is None:
                continue  # a concurrent start took the generated name
            raise _with_copy(error, made) from None
        notes = (*made.copy.warnings, *_differences(origin, started))
        fork_warnings = made.fork.warnings if made.fork else ()
        return replace(started, warnings=(*fork_warnings, *notes))


def _trust(app: App, origin: CloneOrigin, made: _Made) -> None:
    store = app.store(origin.agent)
    if not store.is_trusted(made.copy.folder):
        try:
            start.record_trust(store, made.copy.folder)
        except ProngError as error:
            raise _with_copy(error, made) from None


def _draft(app: App, origin: CloneOrigin, made: _Made, new: str | None) -> WorkerInfo:
    worker, copy = origin.worker, made.copy
    taken = {item.name for item in app.workers.records.all()}
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


def check_name(app: App, new: str | None) -> None:
    """Raise for an invalid or taken name before anything is created."""
    if new is not None:
        taken = {worker.name for worker in app.workers.records.all()}
        names.free(new, app.stores, taken)


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
