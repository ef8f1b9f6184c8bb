"""MCP tool to start workers: spawn_workers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from prong.mcp import names
from prong.mcp.hints import BY_USER
from prong.mcp.schemas import Arguments, shaped
from prong.mcp.shapes import PlannedWorker, Problem, Spawned, SpawnedWorkers
from prong.mcp.tool import Call, Effect, McpTool
from prong.mcp.workers import worker

if TYPE_CHECKING:
    from prong.api.spawn import SpawnedWorker, WorkerWish
    from prong.app import App
    from prong.model.workers import Placement

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


async def spawn_workers(call: Call, given: SpawnWorkers) -> SpawnedWorkers:
    from prong.api import spawn as worker_spawning

    wishes = [_wish(row) for row in given.workers]
    place = _place(given.layout)

    def spawn(app: App) -> SpawnedWorkers:
        results = worker_spawning.spawn(
            app,
            wishes,
            place,
            asking=call.own(app),
            dry_run=given.dry_run,
            told=call.progress.say,
        )
        spawned = [_spawned(number, row) for number, row in enumerate(results, start=1)]
        awaiting = [row.name for row in spawned if row.started and row.awaiting_task and row.name]
        return SpawnedWorkers(
            workers=spawned,
            count=sum(row.started for row in spawned),
            failed=sum(row.problem is not None for row in spawned),
            layout=given.layout,
            workers_awaiting_task=awaiting,
            hint=_hint(given, spawned, awaiting),
        )

    return await call.do(spawn)


def _hint(given: SpawnWorkers, told: list[Spawned], awaiting: list[str]) -> str | None:
    if given.dry_run:
        return "nothing was started; call again without dry_run"
    if awaiting:
        return f"call send_to_worker to give {awaiting[0]} a task"
    return "call wait_workers to wait for them" if any(item.started for item in told) else None


def _spawned(number: int, one: SpawnedWorker) -> Spawned:
    from prong.views import workers as worker_views

    error, status, plan = one.error, one.status, one.plan
    warnings = list(plan.warnings) if plan else []
    if status is not None and status.state.value == "waiting":
        name = status.worker.name
        warnings.append(f"it needs input; {BY_USER} prong attach {name}")
    name = one.worker.name if one.worker else None
    return Spawned(
        number=number,
        # A worker that ended at once counts as started; its problem says the rest.
        started=one.worker is not None and error is None,
        name=name or (plan.name if plan and error is None else one.wish.name),
        worker=worker(status) if status is not None else None,
        plan=shaped(PlannedWorker, worker_views.plan(plan)) if plan and not one.worker else None,
        problem=Problem(error.code, error.message, error.hint) if error else None,
        awaiting_task=not one.wish.has_task,
        warnings=tuple(warnings),
    )


def _place(layout: Layout) -> Placement | None:
    from prong.model.workers import Placement

    if layout == "auto":
        return None
    return Placement.WINDOW if layout == "new" else Placement(layout)


def _wish(given: WorkerConfig) -> WorkerWish:
    from prong.api.spawn import WorkerWish

    folders = given.plugin_dir or []
    worktree = given.worktree
    has_options = worktree is not None and bool(worktree.branch or worktree.base)
    return WorkerWish(
        project=names.folder(given.project_path),
        agent=given.agent_type,
        name=given.name,
        badge=given.badge,
        issue=given.issue_id,
        prompt=given.prompt,
        model=given.model,
        skip_permissions=given.skip_permissions,
        trust=given.trust,
        worktree=True if has_options and given.use_worktree is None else given.use_worktree,
        branch=worktree.branch if worktree else None,
        base=worktree.base if worktree else None,
        plugin_dirs=tuple(
            Path(path) for path in ([folders] if isinstance(folders, str) else folders)
        ),
        headless=given.headless,
        resume=names.session(given.resume_session_id) if given.resume_session_id else None,
        fork=given.fork_session,
        continue_=given.continue_session,
        fork_from=names.session(given.fork_from) if given.fork_from else None,
    )


TOOLS = (
    McpTool(
        "spawn_workers",
        "Start workers",
        "Start agents as workers, each in a terminal pane and, in a git repository, in its own "
        "worktree. One that fails does not stop the others. A worker can resume a session "
        "(resume_session_id), the newest one (continue_session), or run a fork (fork_from).",
        SpawnWorkers,
        SpawnedWorkers,
        Effect.WRITES,
        spawn_workers,
    ),
)
