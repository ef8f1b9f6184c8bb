"""MCP tool to fork a session: fork_session."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from prong.mcp import names
from prong.mcp.call import Call
from prong.mcp.schemas import Arguments
from prong.mcp.shapes import SessionFork
from prong.mcp.tool import Effect, tool


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
    code: names.StartCode = None
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


@tool(
    "Fork a session",
    "Fork a session at a turn, with the code as of that turn in a new worktree, and run the "
    "fork as a worker in a terminal pane. Without a session, forks yourself at the turn before "
    "this one. The source is not changed.",
    Effect.WRITES,
)
def fork_session(call: Call, given: ForkSession) -> SessionFork:
    from prong.api.requests import fork_request, worker_request
    from prong.errors import UsageError
    from prong.mcp import forking

    if not given.run and (given.name or given.headless):
        raise UsageError("name and headless need a worker", hint="leave run out")
    fork = fork_request(
        agent=given.agent,
        into=names.folder(given.project_path),
        code=given.code,
        branch=given.branch,
        title=given.title,
        model=given.model,
        skip_permissions=given.skip_permissions,
    )
    worker = worker_request(
        given.name or None,
        prompt=names.prompt(given.prompt),
        headless=given.headless,
        trust=given.trust,
    )
    notes = tuple[str, ...]()
    if given.session is not None:
        point = names.session(given.session, given.turn)
    elif given.turn is not None:
        point = f"{forking.known(call.own)}@{given.turn}"
    else:
        point = forking.own_point(call)
        notes = (f"forked at {point}: the turn before this one",)
    plan = forking.plan(call, point, fork, worker, run=given.run)
    if given.dry_run:
        return SessionFork(plan=forking.planned_fork(plan), notes=notes)
    if not given.run:
        return SessionFork(fork=forking.made_fork(call.app.forks.make(plan)), notes=notes)
    made, session = forking.start(call, plan, worker)
    return SessionFork(fork=forking.made_fork(made), forked_session=session, notes=notes)
