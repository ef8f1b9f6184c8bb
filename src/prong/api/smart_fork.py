"""Search, choose, fork and run in one call, for agents that look for past context."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from prong.api import permissions
from prong.errors import Busy, NotFound, ProngError, Unavailable, UsageError
from prong.forks.request import ForkRequest
from prong.model.forks import Code, Fork, ForkPlan
from prong.model.record import Record, replace
from prong.model.search import (
    Hit,
    IndexProgress,
    SearchRequest,
    SearchResult,
    ignore_progress,
)
from prong.model.sessions import SessionRef, TurnState
from prong.model.workers import RunOptions, WorkerInfo, WorkerStatus
from prong.search.last_search import place_of
from prong.session.listing import SessionFilter
from prong.views import json
from prong.workers.request import WorkerRequest

if TYPE_CHECKING:
    from prong.app import App

LONGEST_INTENT = 20_000
"""Maximum number of characters: a longer text is a document, not a search."""
READY = 30.0
"""Seconds for the agent of a fork to open its session."""
_RECENT = 5
_ELSEWHERE = "fork_session with a ref and a project_path"


class ForkWish(Record, frozen=True):
    """Request for a fork."""

    prompt: str | None = None
    name: str | None = None
    agent: str | None = None
    project: Path | None = None
    """Folder to run in, instead of a new worktree."""
    code: Code | None = None
    branch: str | None = None
    title: str | None = None
    model: str | None = None
    skip_permissions: bool = False
    trust: bool = False
    headless: bool = False
    run: bool = True
    """False to create the fork without running it."""


class RunningFork(Record, frozen=True):
    """Fork and the worker that runs it."""

    plan: ForkPlan
    fork: Fork
    worker: WorkerInfo
    status: WorkerStatus


def search(
    app: App,
    request: SearchRequest,
    on_progress: Callable[[IndexProgress], None] = ignore_progress,
) -> SearchResult:
    """Search past turns. Raises `Unavailable`, with next steps, when no engine can answer."""
    if len(request.text) > LONGEST_INTENT:
        raise UsageError(
            f"the intent has {len(request.text):,} characters",
            hint=f"say it in a few words; at most {LONGEST_INTENT:,}",
        )
    try:
        result = app.search.find(request, on_progress=on_progress)
    except Unavailable as error:
        steps = [error.hint] if error.hint else []
        error.details.update(error="search_not_available", next_steps=steps)
        error.details["fallback_sessions"] = _recent(app)
        raise
    if result.engine is None:
        raise _no_engine(app, result)
    hits = tuple(_judged(app, hit) for hit in result.hits)
    return replace(result, hits=hits)


def _judged(app: App, hit: Hit) -> Hit:
    """Add to a hit the reason why it cannot be forked, if planning the fork fails."""
    if not hit.can_fork or place_of(hit) is None:
        return hit
    try:
        app.forks.plan(point_of(hit), ForkRequest())
    except ProngError as error:
        return replace(hit, warning=error.message)
    except OSError as error:  # for example a folder name that the system rejects
        return replace(hit, warning=error.strerror or str(error))
    return hit


def _no_engine(app: App, result: SearchResult) -> Unavailable:
    guidance = dict(result.guidance or {})
    message = str(guidance.pop("message", "no engine could answer"))
    guidance.setdefault("error", "qmd_not_available")
    guidance.setdefault("next_steps", ["prong doctor"])
    guidance.setdefault("fallback_sessions", _recent(app))
    return Unavailable(message, hint='engine: "builtin" needs nothing installed', **guidance)


def _recent(app: App) -> list[dict[str, str | None]]:
    """List the latest sessions as a fallback."""
    try:
        sessions = app.sessions.list(SessionFilter(limit=_RECENT)).sessions
    except (ProngError, OSError):
        return []
    return [
        {
            "session_id": session.id,
            "agent": session.agent,
            "project_path": session.cwd,
            "last_modified": json.time(session.updated),
        }
        for session in sessions
    ]


def chosen(result: SearchResult, number: int | None = None) -> tuple[int, Hit]:
    """Return hit `number`, counted from 1, or the best that can be forked, with its number."""
    count = len(result.hits)
    if not count:
        raise NotFound("nothing was found to fork", hint="other words, or fewer filters")
    if number is None:
        forkable = (position for position, hit in enumerate(result.hits, start=1) if hit.can_fork)
        number = next(forkable, None)
        if number is None:
            reason = result.hits[0].warning
            raise NotFound(f"nothing of what was found can be forked: {reason}", hint=_ELSEWHERE)
    if not 1 <= number <= count:
        summary = "1 result" if count == 1 else f"{count} results"
        raise NotFound(
            f"no result {number}: the search found {summary}", hint=f"fork_index: 1 to {count}"
        )
    hit = result.hits[number - 1]
    if not hit.can_fork:
        reason = hit.warning or "its session no longer exists"
        raise NotFound(f"result {number} cannot be forked: {reason}", hint="another fork_index")
    return number, hit


def point_of(hit: Hit) -> str:
    """Return the `SESSION@TURN` of a hit, for `plan`."""
    place = place_of(hit)
    assert place is not None
    return str(place)


def plan_of(
    app: App, result: SearchResult, number: int | None, wish: ForkWish
) -> tuple[ForkPlan, tuple[str, ...]]:
    """Plan the fork of hit `number`, or of the best possible hit, and why better ones failed."""
    _, hit = chosen(result, number)
    if number is not None:
        return plan(app, point_of(hit), wish), ()
    failures: list[str] = []
    for rank, hit in enumerate(result.hits, start=1):
        if not hit.can_fork:
            failures.append(
                f"result {rank} cannot be forked: {hit.warning or 'its session no longer exists'}"
            )
            continue
        try:
            return plan(app, point_of(hit), wish), tuple(failures)
        except NotFound as error:  # such as a folder that no longer exists
            failures.append(f"result {rank} cannot be forked: {error.message}")
    raise NotFound("; ".join(failures), hint=_ELSEWHERE)


def known(ref: SessionRef | None) -> SessionRef:
    """Return the calling session; raise `NotFound` if it is unknown."""
    if ref is None:
        raise NotFound(
            "the calling session is unknown", hint="name one: session, as find_sessions gives it"
        )
    return ref


def own_point(app: App, asking: SessionRef | None) -> str:
    """Return the last completed turn of the calling session, whose present turn still runs."""
    ref = known(asking)
    try:
        conversation = app.sessions.conversation(str(ref))
    except NotFound:
        raise NotFound(f"{ref} has no turn yet that is over", hint="name a session") from None
    turns = conversation.turns
    # A running turn whose activity is unknown looks interrupted.
    if turns and turns[-1].state in (TurnState.RUNNING, TurnState.INTERRUPTED):
        turns = turns[:-1]
    if not turns:
        raise Busy(
            f"{ref} is at its first turn: nothing to fork yet",
            hint="when the turn is over, or spawn_workers for a new session",
        )
    return f"{ref}@{turns[-1].index}"


def plan(app: App, point: str, wish: ForkWish) -> ForkPlan:
    """Plan a fork. Writes nothing. Raises `UsageError` for requests that are not allowed."""
    permissions.refuse_unallowed(app, skip_permissions=wish.skip_permissions, trust=wish.trust)
    app.workers.starter.refuse_name(wish.name or None)
    if wish.headless and not wish.prompt:
        raise UsageError("a headless worker needs a prompt", hint="prompt, or leave headless out")
    custom = wish.skip_permissions or wish.model is not None
    run = RunOptions(model=wish.model, skip_permissions=wish.skip_permissions) if custom else None
    options = ForkRequest(
        agent=wish.agent,
        into=_folder(wish.project),
        title=wish.title,
        prompt=wish.prompt,
        code=wish.code,
        branch=wish.branch,
        run=run,
    )
    prompts = (wish.prompt,) if wish.prompt else ()
    fork_plan = app.workers.forks.plan(point, options, prompts)
    if wish.run:
        app.forks.planner.require_program(fork_plan)
    if not wish.skip_permissions:
        permissions.refuse_inherited(app, fork_plan.agent, fork_plan.command)
    return fork_plan


def _folder(given: Path | None) -> Path | None:
    return Path(os.path.expanduser(given)) if given else None  # noqa: PTH111 -- as elsewhere


def start(
    app: App, plan: ForkPlan, wish: ForkWish, told: Callable[[str], None] = lambda _: None
) -> RunningFork:
    """Create the fork and run it. If it does not run, the error names the fork."""
    request = WorkerRequest(
        prompt=wish.prompt or None,
        name=wish.name or None,
        terminal=None if wish.headless else permissions.terminal(app),
        headless=wish.headless,
        trust=wish.trust,
    )
    told(f"forking {plan.point}")
    (forked,) = app.workers.forks.start(plan, request)
    if forked.error is not None:
        raise forked.error
    assert forked.fork is not None
    assert forked.worker is not None
    told(f"waiting until {forked.worker.name} has started")
    try:
        status = app.workers.states.ready(forked.worker.name, READY)
    except ProngError as error:
        error.details.setdefault("made", [str(forked.fork.child)])
        error.details.setdefault("worker", forked.worker.name)
        raise
    return RunningFork(plan, forked.fork, status.worker, status)
