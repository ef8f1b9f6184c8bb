"""Starting several workers at once for an agent; one failure does not stop the others."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prong.api import permissions
from prong.errors import NotFound, ProngError, UsageError
from prong.model.record import Record, replace
from prong.model.sessions import SessionRef
from prong.model.workers import Placement, RunOptions, WorkerInfo, WorkerStatus
from prong.session.listing import SessionFilter
from prong.workers.launch import environment
from prong.workers.request import WorkerPlan, WorkerRequest

if TYPE_CHECKING:
    from prong.app import App

log = logging.getLogger(__name__)

MOST = 16
"""Maximum number of workers per call."""
READY = 30.0
"""Seconds for all workers together to open their sessions."""
_LONGEST_LABEL = 100


class WorkerWish(Record, frozen=True):
    """Request for one worker."""

    project: Path | None = None
    agent: str | None = None
    name: str | None = None
    badge: str | None = None
    """Label for people; the worker does not see it."""
    issue: str | None = None
    """Issue to work on, named before the prompt."""
    prompt: str | None = None
    model: str | None = None
    skip_permissions: bool = False
    trust: bool = False
    worktree: bool | None = None
    branch: str | None = None
    base: str | None = None
    plugin_dirs: tuple[Path, ...] = ()
    headless: bool = False
    resume: str | None = None
    """Session to resume; with `fork`, to fork."""
    fork: bool = False
    continue_: bool = False
    """Resume the newest session of the project; with `fork`, fork it."""
    fork_from: str | None = None
    """Same as `resume` with `fork`; may also name a turn."""

    @property
    def has_task(self) -> bool:
        return bool((self.prompt or "").strip() or self.issue)


class SpawnedWorker(Record, frozen=True):
    """Result of one request."""

    wish: WorkerWish
    plan: WorkerPlan | None = None
    worker: WorkerInfo | None = None
    status: WorkerStatus | None = None
    error: ProngError | None = None
    """Why the worker was not started, or does not run."""


def _nobody(_: str) -> None:
    """Progress callback that does nothing."""


def spawn(
    app: App,
    wishes: Sequence[WorkerWish],
    place: Placement | None = None,
    *,
    asking: SessionRef | None = None,
    dry_run: bool = False,
    told: Callable[[str], None] = _nobody,
) -> list[SpawnedWorker]:
    """Start workers and wait until their sessions are open. With `dry_run`, only plan.

    An error in one request does not stop the others. `asking` is the session of the caller, which
    `continue_` never resumes.
    """
    if not wishes:
        raise UsageError("no workers to start", hint='workers: [{"prompt": "..."}]')
    if len(wishes) > MOST:
        raise UsageError(f"{len(wishes)} workers at once", hint=f"at most {MOST} with one call")
    names = [request.name for request in wishes if request.name]
    if len(set(names)) < len(names):
        raise UsageError("two workers cannot have one name", hint="a name is made up for each")
    spawned: list[SpawnedWorker] = []
    for number, wish in enumerate(wishes, start=1):
        told(f"starting worker {number} of {len(wishes)}")
        spawned.append(_spawned(app, wish, place, asking, dry_run=dry_run))
    told("waiting until they have started")
    return list(_ready(app, spawned))


def _spawned(
    app: App,
    wish: WorkerWish,
    place: Placement | None,
    asking: SessionRef | None,
    *,
    dry_run: bool,
) -> SpawnedWorker:
    plan: WorkerPlan | None = None
    try:
        options = _options(app, wish, place, asking)
        plan = app.workers.planner.plan(options)
        if plan.fork is not None:
            permissions.refuse_inherited(app, plan.fork.agent, plan.fork.command)
        if dry_run:
            return SpawnedWorker(wish, plan)
        return SpawnedWorker(wish, plan, app.workers.starter.start(plan))
    except Exception as error:  # noqa: BLE001 -- the caller must learn which were started
        return SpawnedWorker(wish, plan, error=_problem(error))


def _ready(app: App, made: Sequence[SpawnedWorker]) -> Iterator[SpawnedWorker]:
    end = time.monotonic() + READY
    for spawned in made:
        if spawned.worker is None:
            yield spawned
            continue
        try:
            status = app.workers.states.ready(spawned.worker.name, max(end - time.monotonic(), 0.0))
        except Exception as error:  # noqa: BLE001 -- as above
            yield replace(spawned, error=_problem(error))
        else:
            yield replace(spawned, worker=status.worker, status=status)


def _problem(error: Exception) -> ProngError:
    if isinstance(error, ProngError):
        return error
    log.error("a worker could not be started", exc_info=error)
    return ProngError(f"{type(error).__name__}: {error}", hint="this is a bug in prong")


def _options(
    app: App, wish: WorkerWish, place: Placement | None, asking: SessionRef | None
) -> WorkerRequest:
    _check(wish)
    permissions.refuse_unallowed(app, skip_permissions=wish.skip_permissions, trust=wish.trust)
    resume, fork = _source(app, wish, asking)
    labels = {environment.BADGE: wish.badge, environment.ISSUE: wish.issue}
    return WorkerRequest(
        prompt=_prompt(wish),
        agent=wish.agent,
        name=wish.name,
        project=wish.project,
        worktree=wish.worktree,
        branch=wish.branch,
        base=wish.base,
        run=RunOptions(
            model=wish.model,
            skip_permissions=wish.skip_permissions,
            plugin_dirs=wish.plugin_dirs,
        ),
        env={name: value for name, value in labels.items() if value},
        headless=wish.headless,
        trust=wish.trust,
        terminal=None if wish.headless else permissions.terminal(app),
        place=None if wish.headless else place,
        resume=resume,
        fork=fork,
    )


def _check(wish: WorkerWish) -> None:
    """Raise `UsageError` for options that exclude each other."""
    sources = {
        "fork_from": wish.fork_from,
        "resume_session_id": wish.resume,
        "continue_session": wish.continue_,
    }
    used = [name for name, value in sources.items() if value]
    if len(used) > 1:
        raise UsageError(f"{used[0]} and {used[1]} exclude each other", hint=f"leave {used[1]} out")
    if wish.fork and not used:
        raise UsageError(
            "fork_session does not say what to fork", hint="fork_from, or resume_session_id"
        )
    for label in (wish.badge, wish.issue):
        if label and (len(label) > _LONGEST_LABEL or not label.isprintable()):
            raise UsageError(
                "a badge and an issue_id are one line each",
                hint=f"at most {_LONGEST_LABEL} letters",
            )


def _source(app: App, wish: WorkerWish, asking: SessionRef | None) -> tuple[str | None, str | None]:
    """Return the session to resume, and the session to fork."""
    if wish.fork_from:
        return None, wish.fork_from
    source = _newest(app, wish, asking) if wish.continue_ else wish.resume
    return (None, source) if wish.fork else (source, None)


def _newest(app: App, wish: WorkerWish, asking: SessionRef | None) -> str:
    """Return the newest session of the project, not counting the caller's."""
    project = wish.project or Path.cwd()
    sessions = app.sessions.list(SessionFilter(wish.agent, project=project, limit=2)).sessions
    refs = [session.ref for session in sessions if session.ref != asking]
    if not refs:
        raise NotFound(f"no session to continue in {project}", hint="leave continue_session out")
    return str(refs[0])


def _prompt(wish: WorkerWish) -> str | None:
    # Agents pass an empty or blank text for no prompt.
    prompt = wish.prompt if (wish.prompt or "").strip() else None
    if not wish.issue:
        return prompt
    task = f"Work on issue {wish.issue}."
    return f"{task}\n\n{prompt}" if prompt else task
