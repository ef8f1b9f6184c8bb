"""Search, choose, fork and run, in one go: what an agent does that looks for help in the past."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from prong.api import permissions
from prong.errors import Busy, NotFound, ProngError, Unavailable, UsageError
from prong.forks import plan as planning
from prong.forks.plan import ForkOptions
from prong.model.forks import Code, Fork, ForkPlan
from prong.model.record import Record, replace
from prong.model.search import Hit, IndexProgress, Query, SearchResult
from prong.model.sessions import SessionRef, TurnState
from prong.model.workers import RunOptions, WorkerInfo, WorkerStatus
from prong.search.last_search import place_of
from prong.sessions.folder_names import project_folder
from prong.sessions.listing import SessionFilter
from prong.views import json
from prong.workers.launch import fork as worker_forking

if TYPE_CHECKING:
    from prong.app import App

LONGEST_INTENT = 20_000
"""Characters. What is longer is a document, not what somebody wants."""
READY = 30.0
"""Seconds in which the agent of a fork must have its session open."""
_RECENT = 5
_ELSEWHERE = "fork_session with a ref and a project_path"


class ForkWish(Record, frozen=True):
    """How a fork is made and run."""

    prompt: str | None = None
    name: str | None = None
    agent: str | None = None
    project: Path | None = None
    """The folder to run it in, instead of a new worktree."""
    code: Code | None = None
    branch: str | None = None
    title: str | None = None
    model: str | None = None
    skip_permissions: bool = False
    trust: bool = False
    headless: bool = False
    run: bool = True
    """False when it is only made."""


class RunningFork(Record, frozen=True):
    """A fork that was made, and the worker that runs it."""

    plan: ForkPlan
    fork: Fork
    worker: WorkerInfo
    status: WorkerStatus


def search(
    app: App,
    query: Query,
    engine: str | None = None,
    on_progress: Callable[[IndexProgress], None] | None = None,
) -> SearchResult:
    """The turns that fit. Raises `Unavailable` when no engine can answer: what to do is in it."""
    if not query.text.strip():
        raise UsageError("the search is empty", hint='"add rate limiting to the API"')
    if len(query.text) > LONGEST_INTENT:
        raise UsageError(
            f"the intent has {len(query.text):,} characters",
            hint=f"say it in a few words; at most {LONGEST_INTENT:,}",
        )
    if query.agent is not None:
        app.store(query.agent)
    notes: list[str] = []
    if query.project is not None:
        query = replace(query, project=project_folder(app, query.project, notes))
    try:
        result = app.find(query, engine, on_progress=on_progress)
    except Unavailable as error:
        steps = [error.hint] if error.hint else []
        error.details.update(error="search_not_available", next_steps=steps)
        error.details["fallback_sessions"] = _recent(app)
        raise
    if result.engine is None:
        raise _no_engine(app, result)
    hits = tuple(_judged(app, hit) for hit in result.hits)
    return replace(result, hits=hits, notes=(*notes, *result.notes))


def _judged(app: App, hit: Hit) -> Hit:
    """With the reason why it cannot be forked, as planning the fork would say."""
    if not hit.can_fork or place_of(hit) is None:
        return hit
    try:
        app.plan_fork(point_of(hit), ForkOptions())
    except ProngError as error:
        return replace(hit, warning=error.message)
    except OSError as error:  # a folder whose name no system takes, for example
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
    """Sessions to choose from by hand."""
    try:
        found = app.list_sessions(SessionFilter(limit=_RECENT)).sessions
    except (ProngError, OSError):
        return []
    return [
        {
            "session_id": one.id,
            "agent": one.agent,
            "project_path": one.cwd,
            "last_modified": json.time(one.updated),
        }
        for one in found
    ]


def chosen(result: SearchResult, number: int | None = None) -> tuple[int, Hit]:
    """Hit `number`, counted from 1, or the best one that can be forked, with its number."""
    count = len(result.hits)
    if not count:
        raise NotFound("nothing was found to fork", hint="other words, or fewer filters")
    if number is None:
        able = (at for at, hit in enumerate(result.hits, start=1) if hit.can_fork)
        number = next(able, None)
        if number is None:
            why = result.hits[0].warning
            raise NotFound(f"nothing of what was found can be forked: {why}", hint=_ELSEWHERE)
    if not 1 <= number <= count:
        have = "1 result" if count == 1 else f"{count} results"
        raise NotFound(
            f"no result {number}: the search found {have}", hint=f"fork_index: 1 to {count}"
        )
    hit = result.hits[number - 1]
    if not hit.can_fork:
        why = hit.warning or "its session no longer exists"
        raise NotFound(f"result {number} cannot be forked: {why}", hint="another fork_index")
    return number, hit


def point_of(hit: Hit) -> str:
    """Where a hit is, as `plan` takes it."""
    place = place_of(hit)
    assert place is not None
    return str(place)


def plan_of(
    app: App, result: SearchResult, number: int | None, wish: ForkWish
) -> tuple[ForkPlan, tuple[str, ...]]:
    """The fork of hit `number`, or of the best one that can be made; and why none before it can."""
    _, hit = chosen(result, number)
    if number is not None:
        return plan(app, point_of(hit), wish), ()
    why: list[str] = []
    for at, hit in enumerate(result.hits, start=1):
        if not hit.can_fork:
            why.append(
                f"result {at} cannot be forked: {hit.warning or 'its session no longer exists'}"
            )
            continue
        try:
            return plan(app, point_of(hit), wish), tuple(why)
        except NotFound as error:  # such as a folder that is gone
            why.append(f"result {at} cannot be forked: {error.message}")
    raise NotFound("; ".join(why), hint=_ELSEWHERE)


def known(ref: SessionRef | None) -> SessionRef:
    """The session that asks, when that is known."""
    if ref is None:
        raise NotFound(
            "the calling session is unknown", hint="name one: session, as find_sessions gives it"
        )
    return ref


def own_point(app: App, asking: SessionRef | None) -> str:
    """The last turn that is over of the session that asks: it is at work on the present one."""
    ref = known(asking)
    try:
        conversation = app.conversation(str(ref))
    except NotFound:
        raise NotFound(f"{ref} has no turn yet that is over", hint="name a session") from None
    over = conversation.turns
    # A turn that nobody knows to be at work looks like one that was interrupted.
    if over and over[-1].state in (TurnState.RUNNING, TurnState.INTERRUPTED):
        over = over[:-1]
    if not over:
        raise Busy(
            f"{ref} is at its first turn: nothing to fork yet",
            hint="when the turn is over, or spawn_workers for a new session",
        )
    return f"{ref}@{over[-1].index}"


def plan(app: App, point: str, wish: ForkWish) -> ForkPlan:
    """What the fork would do. Writes nothing; raises `UsageError` for what is not allowed."""
    permissions.refuse_unallowed(app, skip_permissions=wish.skip_permissions, trust=wish.trust)
    worker_forking.check(app, (wish.name,) if wish.name else (), 1)
    if wish.headless and not wish.prompt:
        raise UsageError("a headless worker needs a prompt", hint="prompt, or leave headless out")
    given = wish.skip_permissions or wish.model is not None
    run = RunOptions(model=wish.model, skip_permissions=wish.skip_permissions) if given else None
    options = ForkOptions(
        agent=wish.agent,
        into=_folder(wish.project),
        title=wish.title,
        prompt=wish.prompt,
        code=wish.code,
        branch=wish.branch,
        run=run,
    )
    prompts = (wish.prompt,) if wish.prompt else ()
    planned, _ = worker_forking.plan(app, point, options, prompts)
    if wish.run:
        planning.require_program(app, planned)
    if not wish.skip_permissions:
        permissions.refuse_inherited(app, planned.agent, planned.command)
    return planned


def _folder(given: Path | None) -> Path | None:
    return Path(os.path.expanduser(given)) if given else None  # noqa: PTH111 -- as elsewhere


def start(
    app: App, plan: ForkPlan, wish: ForkWish, told: Callable[[str], None] = lambda _: None
) -> RunningFork:
    """Make the fork and run it. When it does not run, the error says where the fork is."""
    runs = worker_forking.ForkRuns(
        prompts=(wish.prompt,) if wish.prompt else (),
        names=(wish.name,) if wish.name else (),
        terminal=None if wish.headless else permissions.terminal(app),
        headless=wish.headless,
        trust=wish.trust,
    )
    told(f"forking {plan.point}")
    (one,) = worker_forking.start(app, plan, runs)
    if one.error is not None:
        raise one.error
    assert one.fork is not None
    assert one.worker is not None
    told(f"waiting until {one.worker.name} has started")
    try:
        status = app.workers.ready(one.worker.name, READY)
    except ProngError as error:
        error.details.setdefault("made", [str(one.fork.child)])
        error.details.setdefault("worker", one.worker.name)
        raise
    return RunningFork(plan, one.fork, status.worker, status)
