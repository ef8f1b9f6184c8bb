"""Several workers at once, as an agent asks for them: each is started, or told of, on its own."""

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
from prong.sessions.listing import SessionFilter
from prong.workers.launch import environment
from prong.workers.launch.plan import WorkerOptions, WorkerPlan

if TYPE_CHECKING:
    from prong.app import App

log = logging.getLogger(__name__)

MOST = 16
"""Workers of one call."""
READY = 30.0
"""Seconds that all of them have to open their sessions, together."""
_LONGEST_LABEL = 100


class WorkerWish(Record, frozen=True):
    """One worker that is asked for."""

    project: Path | None = None
    agent: str | None = None
    name: str | None = None
    badge: str | None = None
    """A label for people; the worker is not told."""
    issue: str | None = None
    """What it is to work on; it is told so before its prompt."""
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
    """The session to go on with; with `fork`, to fork."""
    fork: bool = False
    continue_: bool = False
    """Go on with the newest session of the project; with `fork`, fork it."""
    fork_from: str | None = None
    """The same as `resume` with `fork`; a turn may be named, too."""

    @property
    def has_task(self) -> bool:
        return bool((self.prompt or "").strip() or self.issue)


class SpawnedWorker(Record, frozen=True):
    """What became of one of them."""

    wish: WorkerWish
    plan: WorkerPlan | None = None
    worker: WorkerInfo | None = None
    status: WorkerStatus | None = None
    error: ProngError | None = None
    """Why it was not started, or why it does not run."""


def _nobody(_: str) -> None:
    """Is told how far it is."""


def spawn(
    app: App,
    wishes: Sequence[WorkerWish],
    place: Placement | None = None,
    *,
    asking: SessionRef | None = None,
    dry_run: bool = False,
    told: Callable[[str], None] = _nobody,
) -> list[SpawnedWorker]:
    """Start them, and wait until their sessions are open. With `dry_run`, only plan them.

    What is wrong with one of them keeps no other from starting. `asking` is the session of who
    asks: it is no newest session to go on with.
    """
    if not wishes:
        raise UsageError("no workers to start", hint='workers: [{"prompt": "..."}]')
    if len(wishes) > MOST:
        raise UsageError(f"{len(wishes)} workers at once", hint=f"at most {MOST} with one call")
    names = [one.name for one in wishes if one.name]
    if len(set(names)) < len(names):
        raise UsageError("two workers cannot have one name", hint="a name is made up for each")
    made: list[SpawnedWorker] = []
    for number, wish in enumerate(wishes, start=1):
        told(f"starting worker {number} of {len(wishes)}")
        made.append(_spawned(app, wish, place, asking, dry_run=dry_run))
    told("waiting until they have started")
    return list(_ready(app, made))


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
        plan = app.workers.plan(options)
        if plan.fork is not None:
            permissions.refuse_inherited(app, plan.fork.agent, plan.fork.command)
        if dry_run:
            return SpawnedWorker(wish, plan)
        return SpawnedWorker(wish, plan, app.workers.start(plan))
    except Exception as error:  # noqa: BLE001 -- those that were started must be told of
        return SpawnedWorker(wish, plan, error=_problem(error))


def _ready(app: App, made: Sequence[SpawnedWorker]) -> Iterator[SpawnedWorker]:
    end = time.monotonic() + READY
    for one in made:
        if one.worker is None:
            yield one
            continue
        try:
            status = app.workers.ready(one.worker.name, max(end - time.monotonic(), 0.0))
        except Exception as error:  # noqa: BLE001 -- as above
            yield replace(one, error=_problem(error))
        else:
            yield replace(one, worker=status.worker, status=status)


def _problem(error: Exception) -> ProngError:
    if isinstance(error, ProngError):
        return error
    log.error("a worker could not be started", exc_info=error)
    return ProngError(f"{type(error).__name__}: {error}", hint="this is a bug in prong")


def _options(
    app: App, wish: WorkerWish, place: Placement | None, asking: SessionRef | None
) -> WorkerOptions:
    _check(wish)
    permissions.refuse_unallowed(app, skip_permissions=wish.skip_permissions, trust=wish.trust)
    resume, fork = _source(app, wish, asking)
    labels = {environment.BADGE: wish.badge, environment.ISSUE: wish.issue}
    return WorkerOptions(
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
    """Raise `UsageError` for what does not go together."""
    given = {
        "fork_from": wish.fork_from,
        "resume_session_id": wish.resume,
        "continue_session": wish.continue_,
    }
    ways = [name for name, value in given.items() if value]
    if len(ways) > 1:
        raise UsageError(f"{ways[0]} and {ways[1]} exclude each other", hint=f"leave {ways[1]} out")
    if wish.fork and not ways:
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
    """What to resume, and what to fork."""
    if wish.fork_from:
        return None, wish.fork_from
    source = _newest(app, wish, asking) if wish.continue_ else wish.resume
    return (None, source) if wish.fork else (source, None)


def _newest(app: App, wish: WorkerWish, asking: SessionRef | None) -> str:
    """The newest session of the project: not of who asks, which is the newest of all."""
    project = wish.project or Path.cwd()
    found = app.list_sessions(SessionFilter(wish.agent, project=project, limit=2)).sessions
    others = [one.ref for one in found if one.ref != asking]
    if not others:
        raise NotFound(f"no session to continue in {project}", hint="leave continue_session out")
    return str(others[0])


def _prompt(wish: WorkerWish) -> str | None:
    # An agent that has nothing to say writes nothing, or a blank.
    prompt = wish.prompt if (wish.prompt or "").strip() else None
    if not wish.issue:
        return prompt
    task = f"Work on issue {wish.issue}."
    return f"{task}\n\n{prompt}" if prompt else task
