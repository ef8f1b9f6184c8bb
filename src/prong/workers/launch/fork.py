"""Forks that run: each in a pane of its own, with the command and the settings of its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from prong.agents.worker_base import HasTrust
from prong.errors import ProngError, UsageError
from prong.forks import plan as planning
from prong.forks.plan import ForkOptions
from prong.model.forks import Fork, ForkPlan
from prong.model.record import Record, replace
from prong.model.workers import Placement, WorkerInfo, WorkerState
from prong.terminals.base import TakesOver
from prong.workers import names as worker_names
from prong.workers.launch import start as worker_starting
from prong.workers.launch.plan import short
from prong.workers.launch.start import ForkRun

if TYPE_CHECKING:
    from prong.app import App


class ForkRuns(Record, frozen=True):
    """How the forks of one plan are run."""

    prompts: tuple[str, ...] = ()
    """One for each fork; when there is none, each is asked what the plan says."""
    names: tuple[str, ...] = ()
    """Of the first ones; the others are named after the source."""
    terminal: str | None = None
    place: Placement | None = None
    headless: bool = False
    commit_turns: bool = False
    push: str | None = None
    trust: bool = False
    """Record that the agent may work in the new folders, as the agent itself would."""
    ready_timeout: float = 60
    """Seconds that a fork has to start before its long prompt is pasted."""


class ForkedWorker(Record, frozen=True):
    """What became of one of several forks."""

    fork: Fork | None = None
    worker: WorkerInfo | None = None
    error: ProngError | None = None
    """Why there is no fork, or why it does not run."""


def plan(
    app: App, point: str, options: ForkOptions, prompts: Sequence[str] = (), count: int = 1
) -> tuple[ForkPlan, int]:
    """What the first fork would do, and how many there will be. Writes nothing."""
    if len(prompts) > 1 and count not in (1, len(prompts)):
        raise UsageError(
            f"{count} forks and {len(prompts)} prompts", hint=f"--count {len(prompts)}"
        )
    number = max(count, len(prompts))
    first = prompts[0] if prompts else options.prompt
    given = replace(options, prompt=short(first)[0], count=number)
    return app.plan_fork(point, given), number


def check(app: App, names: Sequence[str], count: int) -> None:
    """Raise before anything is made for names that cannot be, or are not free."""
    if len(names) > count:
        raise UsageError(f"{len(names)} names for {count} forks", hint=f"--count {len(names)}")
    taken = {worker.name for worker in app.workers.records.all()}
    for at, name in enumerate(names):
        worker_names.free(name, app.stores, {*taken, *names[:at]})


def start(app: App, plan: ForkPlan, runs: ForkRuns, count: int = 1) -> Iterator[ForkedWorker]:
    """Make the forks and start each; each is given when it runs, or when it is known not to.

    What fails is told and ends nothing else. The agents start beside each other; a prompt that is
    too long for a command line is pasted when its agent is ready, and its worker given then.
    """
    check(app, runs.names, count)
    planning.require_program(app, plan)
    if not runs.headless:
        # A reason not to begin, when there is none.
        terminal = app.terminals.for_worker(runs.terminal)
        if count > 1 and isinstance(terminal, TakesOver):
            raise UsageError(
                f"{terminal.name} has room for one fork, not for {count}", hint="--terminal tmux"
            )
    slow: list[tuple[ForkedWorker, str]] = []
    for number in range(1, count + 1):
        prompt = _prompt(plan, runs, number)
        one = _started(app, plan, runs, number, prompt)
        _, long = (None, None) if runs.headless else short(prompt)
        if one.worker is not None and long is not None:
            slow.append((one, long))
        else:
            yield one
    for one, long in slow:
        yield _asked(app, one, long, runs.ready_timeout)


def fork(
    app: App,
    source: str,
    name: str | None = None,
    *,
    prompt: str | None = None,
    turn: int | str | None = None,
) -> WorkerInfo:
    """One fork of a worker or of a session, running. When it does not run, the fork stays."""
    point = source if turn is None else f"{source}@{turn}"
    planned, _ = plan(app, point, ForkOptions(prompt=prompt, name=name))
    parent = app.workers.records.named(planned.worker) if planned.worker else None
    runs = ForkRuns(
        names=(name,) if name else (),
        prompts=(prompt,) if prompt else (),
        headless=parent is not None and parent.headless,
    )
    (one,) = start(app, planned, runs)
    if one.error is not None:
        raise one.error
    assert one.worker is not None
    return one.worker


def _started(
    app: App, first: ForkPlan, runs: ForkRuns, number: int, prompt: str | None
) -> ForkedWorker:
    made: Fork | None = None
    try:
        shown = None if runs.headless else short(prompt)[0]
        own = first if first.prompt == shown else planning.asking(app, first, shown)
        if number > 1:
            own = planning.again(app, own, number)
        made = app.fork(own)
        if runs.trust:
            _trust(app, own)
        run = _run(app, own, runs, number, prompt)
        return ForkedWorker(made, app.workers.open_fork(made, run))
    except ProngError as error:
        if made is not None:
            error = worker_starting.with_fork(error, made)
        return ForkedWorker(made, error=error)


def _trust(app: App, plan: ForkPlan) -> None:
    store = app.store(plan.agent)
    if isinstance(store, HasTrust) and not store.is_trusted(plan.workspace):
        worker_starting.record_trust(store, plan.workspace)


def _run(app: App, plan: ForkPlan, runs: ForkRuns, number: int, prompt: str | None) -> ForkRun:
    source = app.workers.records.named(plan.worker) if plan.worker and plan.worktree else None
    return ForkRun(
        name=runs.names[number - 1] if number <= len(runs.names) else None,
        forked_from=plan.worker,
        command=plan.command,
        env=plan.env,
        terminal=runs.terminal,
        place=runs.place,
        headless=runs.headless,
        prompt=prompt if runs.headless else None,
        asked=plan.prompt is not None,
        # Where the source commits its turns, so does a fork with a branch of its own.
        commit_turns=runs.commit_turns or (source is not None and source.commit_turns),
        push=runs.push or (source.push if source else None),
    )


def _asked(app: App, one: ForkedWorker, prompt: str, timeout: float) -> ForkedWorker:
    """The worker, when its long prompt was pasted."""
    assert one.worker is not None
    name = one.worker.name
    try:
        app.workers.ready(name, timeout)
        # Somebody may have to say first that the agent may work in the new folder.
        app.workers.wait([name], timeout=timeout, until=[WorkerState.IDLE])
        app.workers.send(name, prompt)
    except ProngError as error:
        error.message = f"{name} was not given its prompt: {error.message}"
        return replace(one, error=error)
    return replace(one, worker=app.workers.named(name))


def _prompt(plan: ForkPlan, runs: ForkRuns, number: int) -> str | None:
    if not runs.prompts:
        return plan.prompt
    return runs.prompts[number - 1 if number <= len(runs.prompts) else -1]
