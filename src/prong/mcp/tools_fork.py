"""MCP tool to fork a session: fork_session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from prong.mcp import names
from prong.mcp.forked import CODES, forked_session, made_fork, planned_fork
from prong.mcp.schemas import Arguments
from prong.mcp.shapes import SessionFork
from prong.mcp.tool import Call, Effect, McpTool

if TYPE_CHECKING:
    from prong.api.smart_fork import ForkWish
    from prong.app import App


class ForkSession(Arguments, frozen=True):
    session: Annotated[
        str | None,
        Meta(description="Session or worker name. Omit it to fork yourself."),
    ] = None
    turn: Annotated[
        int | None,
        Meta(description="Last turn to include; -1 is the last one, 0 before the first."),
    ] = None
    prompt: Annotated[str | None, Meta(description="The fork's first prompt.")] = None
    name: Annotated[str | None, Meta(description="Worker name.")] = None
    agent: Annotated[str | None, Meta(description="Agent to fork into.")] = None
    project_path: Annotated[
        str | None, Meta(description="Run in this folder instead of a new worktree.")
    ] = None
    code: Annotated[
        CODES | None,
        Meta(
            description="Code to start from: turn, as of the turn; now, the current code; head, "
            "the last commit; none, the folder itself without a worktree."
        ),
    ] = None
    branch: Annotated[str | None, Meta(description="Branch name for the worktree.")] = None
    title: Annotated[str | None, Meta(description="Title of the new session.")] = None
    model: Annotated[names.Model | None, Meta(description="Model to use.")] = None
    run: Annotated[
        bool, Meta(description="Run it as a worker. If false, only return the command.")
    ] = True
    headless: Annotated[bool, Meta(description="Run without a terminal pane; needs a prompt.")] = (
        False
    )
    skip_permissions: names.SkipPermissions = False
    trust: names.Trust = False
    dry_run: Annotated[bool, Meta(description="Only return the plan.")] = False


async def fork_session(call: Call, given: ForkSession) -> SessionFork:
    from prong.api import smart_fork

    session = names.session(given.session, given.turn) if given.session is not None else None
    wish = _wish(given)

    def fork(app: App) -> SessionFork:
        point, notes = session, tuple[str, ...]()
        if point is None:
            own = call.own(app)
            if given.turn is None:
                point = smart_fork.own_point(app, own)
                notes = (f"forked at {point}: the turn before this one",)
            else:
                point = f"{smart_fork.known(own)}@{given.turn}"
        plan = smart_fork.plan(app, point, wish)
        if given.dry_run:
            return SessionFork(plan=planned_fork(plan), notes=notes)
        if not given.run:
            return SessionFork(fork=made_fork(app.forks.make(plan)), notes=notes)
        running = smart_fork.start(app, plan, wish, call.progress.say)
        return SessionFork(
            fork=made_fork(running.fork), forked_session=forked_session(running), notes=notes
        )

    return await call.do(fork)


def _wish(given: ForkSession) -> ForkWish:
    from prong.api.smart_fork import ForkWish
    from prong.errors import UsageError
    from prong.model.forks import Code

    if not given.run and (given.name or given.headless):
        raise UsageError("name and headless need a worker", hint="leave run out")
    return ForkWish(
        prompt=names.prompt(given.prompt),
        name=given.name,
        agent=given.agent,
        project=names.folder(given.project_path),
        code=Code(given.code) if given.code else None,
        branch=given.branch,
        title=given.title,
        model=given.model,
        headless=given.headless,
        run=given.run,
        skip_permissions=given.skip_permissions,
        trust=given.trust,
    )


TOOLS = (
    McpTool(
        "fork_session",
        "Fork a session",
        "Fork a session at a turn, with the code as of that turn in a new worktree, and run the "
        "fork as a worker in a terminal pane. Without a session, forks yourself at the turn before "
        "this one. The source is not changed.",
        ForkSession,
        SessionFork,
        Effect.WRITES,
        fork_session,
    ),
)
