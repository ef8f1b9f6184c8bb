"""MCP tool to start workers: spawn_workers."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from prong.mcp import names
from prong.mcp.call import Call
from prong.mcp.hints import BY_USER
from prong.mcp.schemas import Arguments, shaped
from prong.mcp.shapes import PlannedWorker, Problem, Spawned, SpawnedWorkers
from prong.mcp.tool import Effect, tool
from prong.mcp.tools_workers import worker_row
from prong.model.record import replace

if TYPE_CHECKING:
    from prong.workers.request import WorkerRequest

log = logging.getLogger(__name__)

_READY = 30.0
"""Seconds for all workers together to open their sessions."""
_LONGEST_LABEL = 100
Layout = Literal["auto", "new", "split", "tab", "window"]


class WorktreeConfig(Arguments, frozen=True):
    branch: Annotated[str | None, Meta(description="Branch name.")] = None
    base: Annotated[str | None, Meta(description="Commit to start from (default: HEAD).")] = None


class WorkerConfig(Arguments, frozen=True):
    project_path: Annotated[
        str | None,
        Meta(description="Folder to work in; omitted or auto: this server's folder."),
    ] = None
    agent_type: Annotated[str | None, Meta(description="claude (default) or codex.")] = None
    name: Annotated[str | None, Meta(description="Worker name; generated if omitted.")] = None
    badge: Annotated[str | None, Meta(description="Label for people; not shown to the worker.")] = (
        None
    )
    issue_id: Annotated[
        str | None, Meta(description="Issue to work on; counts as a task, like a prompt.")
    ] = None
    prompt: Annotated[str | None, Meta(description="Its task.")] = None
    model: Annotated[names.Model | None, Meta(description="Model to use.")] = None
    skip_permissions: names.SkipPermissions = False
    trust: names.Trust = False
    use_worktree: Annotated[
        bool | None,
        Meta(description="Use a new worktree (default in a git repository)."),
    ] = None
    worktree: Annotated[WorktreeConfig | None, Meta(description="Options of the worktree.")] = None
    plugin_dir: Annotated[
        str | list[str] | None, Meta(description="Plug-in folder, or several.")
    ] = None
    headless: Annotated[bool, Meta(description="Run without a terminal pane; needs a task.")] = (
        False
    )
    resume_session_id: Annotated[
        str | None, Meta(description="Resume this session, or its fork with fork_session.")
    ] = None
    fork_session: Annotated[
        bool, Meta(description="Fork the session to resume instead of resuming it.")
    ] = False
    continue_session: Annotated[bool, Meta(description="Resume the project's newest session.")] = (
        False
    )
    fork_from: Annotated[
        str | None, Meta(description="Fork this session, session@turn or worker.")
    ] = None


class SpawnWorkers(Arguments, frozen=True):
    workers: Annotated[
        list[WorkerConfig], Meta(min_length=1, max_length=16, description="One entry per worker.")
    ]
    layout: Annotated[
        Layout, Meta(description="Where panes open: auto, the user's setting; new, a window.")
    ] = "auto"
    dry_run: Annotated[bool, Meta(description="Only return the plan.")] = False


@tool(
    "Start workers",
    "Start agents as workers, each in a terminal pane and, in a git repository, in its own "
    "worktree. One that fails does not stop the others. A worker can resume a session "
    "(resume_session_id), the newest one (continue_session), or run a fork (fork_from).",
    Effect.WRITES,
)
def spawn_workers(call: Call, given: SpawnWorkers) -> SpawnedWorkers:
    from prong.errors import UsageError

    named = [config.name for config in given.workers if config.name]
    if len(set(named)) < len(named):
        raise UsageError("two workers cannot have one name", hint="a name is made up for each")
    # A wrong form of a name refuses the whole call, before any worker starts.
    for config in given.workers:
        names.folder(config.project_path)
        for session in filter(None, (config.fork_from, config.resume_session_id)):
            names.session(session)
    spawned: list[Spawned] = []
    for number, config in enumerate(given.workers, start=1):
        call.say(f"starting worker {number} of {len(given.workers)}")
        spawned.append(_started(call, given, number, config))
    call.say("waiting until they have started")
    end = time.monotonic() + _READY
    spawned = [_ready(call, row, end) for row in spawned]
    awaiting = [row.name for row in spawned if row.started and row.awaiting_task and row.name]
    return SpawnedWorkers(
        workers=spawned,
        count=sum(row.started for row in spawned),
        failed=sum(row.problem is not None for row in spawned),
        layout=given.layout,
        workers_awaiting_task=awaiting,
        hint=_hint(given, spawned, awaiting),
    )


def _started(call: Call, given: SpawnWorkers, number: int, config: WorkerConfig) -> Spawned:
    """Start one worker. A failure does not stop the others."""
    from prong.views import workers as views

    workers = call.app.workers
    has_task = bool(names.prompt(config.prompt) or config.issue_id)
    row = Spawned(number=number, started=False, name=config.name, awaiting_task=not has_task)
    try:
        plan = workers.planner.plan(_request(call, config, given.layout))
        row = replace(row, plan=shaped(PlannedWorker, views.plan(plan)), warnings=plan.warnings)
        if plan.fork is not None:
            call.permissions.require_inherited(plan.fork.agent, plan.fork.command)
        if given.dry_run:
            return replace(row, name=plan.name)
        return replace(row, started=True, name=workers.starter.start(plan).name, plan=None)
    except Exception as error:  # noqa: BLE001 -- the caller must learn which were started
        return replace(row, problem=_problem(error))


def _ready(call: Call, row: Spawned, end: float) -> Spawned:
    if not row.started or row.name is None:
        return row
    try:
        status = call.app.workers.states.ready(row.name, max(end - time.monotonic(), 0.0))
    except Exception as error:  # noqa: BLE001 -- as above
        return replace(row, started=False, problem=_problem(error))
    name, warnings = status.worker.name, row.warnings
    if status.state.value == "waiting":
        warnings = (*warnings, f"it needs input; {BY_USER} prong attach {name}")
    return replace(row, name=name, worker=worker_row(status), warnings=warnings)


def _problem(error: Exception) -> Problem:
    from prong.errors import ProngError

    if not isinstance(error, ProngError):
        log.error("a worker could not be started", exc_info=error)
        message = f"{type(error).__name__}: {error}"
        error = ProngError(message, hint="this is a bug in prong")
    return Problem(error.code, error.message, error.hint)


def _request(call: Call, config: WorkerConfig, layout: Layout) -> WorkerRequest:
    from prong.api.requests import worker_request
    from prong.workers.launch import environment

    _check(config)
    call.permissions.require(skip_permissions=config.skip_permissions, trust=config.trust)
    source, is_fork = _source(call, config)
    folders = config.plugin_dir or []
    worktree = config.worktree or WorktreeConfig()
    use_worktree = config.use_worktree
    if use_worktree is None and (worktree.branch or worktree.base):
        use_worktree = True
    place = None if config.headless or layout == "auto" else layout
    labels = {environment.BADGE: config.badge, environment.ISSUE: config.issue_id}
    return worker_request(
        config.name,
        agent=config.agent_type,
        prompt=_prompt(config),
        project=names.folder(config.project_path),
        worktree=use_worktree,
        branch=worktree.branch,
        base=worktree.base,
        model=config.model,
        skip_permissions=config.skip_permissions,
        plugin_dirs=[folders] if isinstance(folders, str) else folders,
        env={name: value for name, value in labels.items() if value},
        headless=config.headless,
        trust=config.trust,
        terminal=call.permissions.terminal(headless=config.headless),
        place="window" if place == "new" else place,
        resume=None if is_fork else source,
        fork=source if is_fork else None,
    )


def _check(config: WorkerConfig) -> None:
    """Raise `UsageError` for options that exclude each other."""
    from prong.errors import UsageError

    used = [
        name
        for name in ("fork_from", "resume_session_id", "continue_session")
        if getattr(config, name)
    ]
    if len(used) > 1:
        raise UsageError(f"{used[0]} and {used[1]} exclude each other", hint=f"leave {used[1]} out")
    if config.fork_session and not used:
        raise UsageError(
            "fork_session does not say what to fork", hint="fork_from, or resume_session_id"
        )
    for label in (config.badge, config.issue_id):
        if label and (len(label) > _LONGEST_LABEL or not label.isprintable()):
            raise UsageError(
                "a badge and an issue_id are one line each",
                hint=f"at most {_LONGEST_LABEL} letters",
            )


def _source(call: Call, config: WorkerConfig) -> tuple[str | None, bool]:
    """Return the session to resume or to fork, and whether to fork it."""
    if config.fork_from:
        return names.session(config.fork_from), True
    if config.continue_session:
        return _newest(call, config), config.fork_session
    resumed = config.resume_session_id
    return names.session(resumed) if resumed else None, config.fork_session


def _newest(call: Call, config: WorkerConfig) -> str:
    """Return the newest session of the project, not counting the caller's."""
    from prong.errors import NotFound
    from prong.session.listing import SessionFilter

    project = names.folder(config.project_path) or Path.cwd()
    filters = SessionFilter(config.agent_type, project=project, limit=2)
    sessions = call.app.sessions.list(filters).sessions
    refs = [session.ref for session in sessions if session.ref != call.own]
    if not refs:
        raise NotFound(f"no session to continue in {project}", hint="leave continue_session out")
    return str(refs[0])


def _prompt(config: WorkerConfig) -> str | None:
    # Agents pass an empty or blank text for no prompt.
    prompt = names.prompt(config.prompt)
    if not config.issue_id:
        return prompt
    task = f"Work on issue {config.issue_id}."
    return f"{task}\n\n{prompt}" if prompt else task


def _hint(given: SpawnWorkers, told: list[Spawned], awaiting: list[str]) -> str | None:
    if given.dry_run:
        return "nothing was started; call again without dry_run"
    if awaiting:
        return f"call send_to_worker to give {awaiting[0]} a task"
    return "call wait_workers to wait for them" if any(item.started for item in told) else None
