"""Start workers: new ones, existing forks, clones, and those that are gone."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prong.agents.base import AgentStore
from prong.code.worktrees import worktree as worktrees
from prong.errors import Busy, Dirty, NotFound, ProngError, Taken, Unsupported
from prong.files import edits
from prong.files.edits import Edit
from prong.forks import workspace
from prong.model.forks import Fork, ForkPlan, Launch, WorktreePlan
from prong.model.record import Record, field, replace
from prong.model.sessions import Session, SessionRef
from prong.model.workers import NewSession, Placement, WorkerInfo, WorkerState
from prong.processes.process import process_of
from prong.processes.programs import output
from prong.terminals.base import OnlyTells, TakesOver, Terminal
from prong.workers import headless as worker_headless
from prong.workers import liveness, lock, names
from prong.workers import push as worker_pushing
from prong.workers.launch import environment
from prong.workers.launch import plan as worker_planning
from prong.workers.launch.plan import WorkerPlan

if TYPE_CHECKING:
    from prong.app import App

_ATTEMPTS = 20
_READY = 60.0
"""Seconds for an agent to be ready for a pasted prompt."""


class ForkRun(Record, frozen=True):
    """Options to run an existing fork as a worker."""

    name: str | None = None
    forked_from: str | None = None
    """Name of the worker that was forked."""
    command: str | tuple[str, ...] | None = None
    """Base command; None: the configured one."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment variables of its source."""
    terminal: str | None = None
    place: Placement | None = None
    headless: bool = False
    prompt: str | None = None
    """Prompt of a headless worker, or one too long for a command line."""
    asked: bool = False
    """True if the fork's launch contains a prompt."""
    commit_turns: bool = False
    push: str | None = None


class _Opening(Record, frozen=True):
    """How to start the program of a worker once its session and folder exist."""

    terminal: Terminal | None
    """None for a headless worker."""
    place: Placement | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables for this start; keys among them are not stored."""
    asked: bool = False
    """True if the launch contains a prompt."""
    prompt: str | None = None
    """Prompt of a headless worker, or one to paste."""


def start(app: App, plan: WorkerPlan) -> WorkerInfo:
    """Start a planned worker: it runs and is recorded, or nothing is left."""
    for _ in range(_ATTEMPTS):
        plan = worker_planning.settled(app, plan)
        try:
            return _started(app, plan)
        except Taken:
            if worker_planning.settled(app, plan) is not plan:
                continue
            if plan.options.name is not None or app.workers.records.named(plan.name) is None:
                raise
            # A concurrent start has generated the same name.
            plan = worker_planning.plan(app, plan.options)
    raise Busy("too many workers are starting at once", hint="try again")


def _started(app: App, plan: WorkerPlan) -> WorkerInfo:
    options = plan.options
    # A missing terminal must fail before anything is created.
    terminal = None if options.headless else app.terminals.for_worker(options.terminal)
    opening = _Opening(
        terminal,
        options.place,
        options.env,
        asked=options.prompt is not None and plan.pasted is None,
        prompt=options.prompt if options.headless else plan.pasted,
    )
    draft = WorkerInfo(
        name=plan.name,
        agent=plan.agent,
        workspace=plan.workspace,
        command=plan.command,
        created=datetime.now(UTC),
        session=plan.session,
        env=environment.stored(options.env, os.environ),
        headless=options.headless,
        commit_turns=options.commit_turns,
        push=options.push,
    )
    with _reserved(app, draft) as reserved:
        if plan.trust is not None:
            record_trust(app.store(plan.agent), plan.trust.folder)
        if plan.fork is not None:
            worker = _forked(app, plan.fork, reserved, opening)
        elif plan.worktree is not None:
            worker = _in_worktree(app, plan, plan.worktree, reserved, opening)
        else:
            worker = _opened(app, reserved, plan.launch, opening)
    # From here on the worker stays, even if its prompt cannot be pasted.
    return _asked(app, worker, opening)


def _forked(app: App, plan: ForkPlan, worker: WorkerInfo, opening: _Opening) -> WorkerInfo:
    fork = app.forks.make(plan)
    try:
        worker = _belongs_to(app, worker, fork, str(fork.parent))
        return _opened(app, worker, fork.launch, opening)
    except ProngError as error:
        raise with_fork(error, fork) from None


def _in_worktree(
    app: App, plan: WorkerPlan, worktree: WorktreePlan, worker: WorkerInfo, opening: _Opening
) -> WorkerInfo:
    takes_over = isinstance(opening.terminal, TakesOver)
    with workspace.made(app, worktree) as making:
        path, branch = making.worktree.path, making.worktree.branch
        worker = app.workers.records.change(worker.name, worktree=path, branch=branch)
        if not takes_over:
            worker = _opened(app, worker, plan.launch, opening)
        # From here on a program runs in the worktree.
        making.undo.keep()
        if worker.session is not None:
            making.belongs_to(SessionRef(worker.agent, worker.session))
    # A terminal that takes over replaces this process, so it comes last.
    return _opened(app, worker, plan.launch, opening) if takes_over else worker


def open_fork(app: App, fork: Fork, run: ForkRun) -> WorkerInfo:
    """Run an existing fork as a worker. The fork stays if it cannot be started."""
    terminal = None if run.headless else app.terminals.for_worker(run.terminal)
    opening = _Opening(terminal, run.place, run.env, asked=run.asked, prompt=run.prompt)
    store = app.store(fork.child.agent)
    assert fork.workspace is not None
    draft = WorkerInfo(
        name=run.name or "",
        agent=fork.child.agent,
        workspace=fork.workspace,
        command=run.command or getattr(store, "command", ()),
        created=datetime.now(UTC),
        session=fork.child.id,
        env=environment.stored(run.env, os.environ),
        headless=run.headless,
        commit_turns=run.commit_turns,
        push=run.push,
    )
    for _ in range(_ATTEMPTS):
        named = replace(draft, name=_name(app, run))
        try:
            with _reserved(app, named) as reserved:
                worker = _belongs_to(app, reserved, fork, run.forked_from or str(fork.parent))
                worker = _opened(app, worker, fork.launch, opening)
        except Taken:
            if run.name is not None:
                raise
        else:
            return _asked(app, worker, opening)
    raise Busy("too many workers are starting at once", hint="try again")


def with_fork(error: ProngError, fork: Fork) -> ProngError:
    """Add to an error that the fork exists although it does not run."""
    error.message += f"; the fork is there: {fork.child}"
    error.details["made"] = [str(fork.child)]
    error.hint = error.hint or f"prong run --resume {fork.child}"
    return error


def _name(app: App, run: ForkRun) -> str:
    if run.name is not None:
        return names.checked(run.name, app.stores)
    taken = {worker.name for worker in app.workers.records.all()}
    source = run.forked_from
    if source is not None and source in taken:
        return names.after(source, taken)
    return names.made_up(taken)


def open_copy(
    app: App, draft: WorkerInfo, launch: Launch, terminal: str | None, place: Placement | None
) -> WorkerInfo:
    """Run a clone whose session and workspace exist."""
    pane_terminal = None if draft.headless else app.terminals.for_worker(terminal)
    with _reserved(app, draft) as worker:
        return _opened(app, worker, launch, _Opening(pane_terminal, place))


def _belongs_to(app: App, worker: WorkerInfo, fork: Fork, source: str) -> WorkerInfo:
    return app.workers.records.change(
        worker.name,
        session=fork.child.id,
        workspace=fork.workspace,
        worktree=_top_of(app, fork),
        branch=fork.branch,
        fork=fork.id,
        forked_from=source,
    )


def _top_of(app: App, fork: Fork) -> Path | None:
    """Return the worktree that was created for a fork."""
    if fork.branch is None or fork.workspace is None:
        return None
    paths = [item.path for item in worktrees.listed(app.worktrees_root)]
    inside = (item for item in paths if fork.workspace.is_relative_to(item))
    return next(inside, None)


@contextmanager
def _reserved(app: App, draft: WorkerInfo) -> Generator[WorkerInfo]:
    """Reserve a worker's name before anything is created; release it if nothing started."""
    store = app.store(draft.agent).with_command(draft.command or None)
    app.workers.records.add(draft)
    try:
        yield replace(draft, **_in_force(app, store, draft))
    except BaseException:
        current = app.workers.records.named(draft.name)
        if current is None or (current.pane is None and current.process is None):
            with suppress(ProngError):
                app.workers.records.remove(draft.name)
        raise


def _in_force(app: App, store: AgentStore, worker: WorkerInfo) -> dict[str, str | None]:
    """Record the current version of the program and hash of its settings."""
    version = output([store.program.name, "--version"]) if store.program else None
    files = store.settings_files(worker.workspace)
    facts = {
        "version": version.strip() if version else None,
        "settings_hash": environment.settings_hash(files),
    }
    app.workers.records.change(worker.name, **facts)
    return facts


def _opened(app: App, worker: WorkerInfo, launch: Launch | None, opening: _Opening) -> WorkerInfo:
    """Start the worker in its pane, or its first turn if headless."""
    if worker.headless and opening.prompt is None:
        # The next prompt starts its next turn.
        return app.workers.records.change(worker.name, started=datetime.now(UTC))
    if worker.headless:
        assert opening.prompt is not None
        return worker_headless.turn(app, worker, opening.prompt, opening.env)
    assert launch is not None
    terminal = opening.terminal
    assert terminal is not None
    marks = environment.marked(worker.name, commit_turns=worker.commit_turns, push=worker.push)
    shell = environment.carried(os.environ)
    env = {**shell, **worker.env, **launch.env, **opening.env, **marks}
    launch = app.setup.hooks.for_one_run(worker.agent, replace(launch, env=env, title=worker.name))
    now = datetime.now(UTC)
    facts: dict[str, Any] = {"started": now, "stopped": None}
    facts["prompted"] = now if opening.asked else None
    facts["commanded"] = False
    if isinstance(terminal, TakesOver):
        # The agent will have this process's id.
        app.workers.records.change(worker.name, process=process_of(os.getpid()), **facts)
    try:
        pane = terminal.open(launch, app.terminals.place(opening.place))
    except BaseException:
        if isinstance(terminal, TakesOver):
            app.workers.records.change(worker.name, process=None)
        raise
    try:
        live = terminal.alive([pane]).get(pane)
        process = process_of(live.pid) if live and live.pid else None
        # A printed command may contain a key, so it is shown but not stored.
        stored_pane = replace(pane, id="") if isinstance(terminal, OnlyTells) else pane
        worker = app.workers.records.change(worker.name, pane=stored_pane, process=process, **facts)
    except BaseException:
        # Otherwise an unrecorded pane would stay.
        with suppress(ProngError):
            terminal.close(pane)
        raise
    return replace(worker, pane=pane)


def _asked(app: App, worker: WorkerInfo, opening: _Opening) -> WorkerInfo:
    """Paste a prompt that is too long for a command line, if there is one."""
    if worker.headless or opening.prompt is None:
        return worker
    app.workers.ready(worker.name, _READY)
    app.workers.send(worker.name, opening.prompt)
    return replace(app.workers.named(worker.name), pane=worker.pane)


def restart(
    app: App, worker: WorkerInfo, terminal_name: str | None, place: Placement | None
) -> WorkerInfo:
    """Reopen a worker's own session; never fork it again."""
    worker_pushing.again(worker)
    with lock.alone(app, worker.name):
        return _restarted(app, app.workers.named(worker.name), terminal_name, place)


def _restarted(
    app: App, worker: WorkerInfo, terminal_name: str | None, place: Placement | None
) -> WorkerInfo:
    if worker.headless:
        raise Unsupported(
            f"{worker.name} is headless: a turn is a run of its own",
            hint=f'prong send {worker.name} "..."',
        )
    if app.workers.status(worker.name).state is not WorkerState.GONE:
        raise Busy(f"{worker.name} is already running", hint=f"prong attach {worker.name}")
    if not worker.workspace.is_dir():
        raise NotFound(
            f"the folder of {worker.name} no longer exists: {worker.workspace}",
            hint=f"prong fork {worker.name} --into DIR uses another folder",
        )
    old = worker.pane.terminal if worker.pane else None
    terminal = app.terminals.for_worker(terminal_name or old)
    if worker.pane is not None and liveness.is_left_behind(app, worker):
        with suppress(ProngError):
            app.terminals.of(worker.pane).close(worker.pane)
    store = app.store(worker.agent).with_command(worker.command)
    session = _session_of(app, worker)
    if session is not None:
        launch = store.resume(session, worker.workspace)
    elif worker.prompted is not None:
        raise NotFound(
            f"the session of {worker.name} no longer exists: {worker.agent}:{worker.session}",
            hint=f"prong stop --forget {worker.name}, and prong run for a new one",
        )
    else:
        # Without a prompt, the agent has written no session.
        id_ = None if store.chooses_ids else worker.session
        launch = store.begin(NewSession(id_, worker.workspace))
        if id_ is None:
            worker = app.workers.records.change(worker.name, session=None)
    return _opened(app, worker, launch, _Opening(terminal, place))


def _session_of(app: App, worker: WorkerInfo) -> Session | None:
    fitting = (
        session for session in app.sessions.all(worker.agent) if session.id == worker.session
    )
    return next(fitting, None)


def record_trust(store: AgentStore, folder: Path) -> None:
    """Mark a folder as trusted in the agent's settings.

    Agents write to that file, too, so retry until no other write came in between.
    """
    for attempt in range(_ATTEMPTS):
        try:
            edits.change(Edit(*store.trusting(folder)))
        except Dirty:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return
