"""Start forks as workers, each in its own pane, with the settings of its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

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
    """Options to run the forks of one plan."""

    prompts: tuple[str, ...] = ()
    """One per fork; if empty, each gets the prompt of the plan."""
    names: tuple[str, ...] = ()
    """Names of the first forks; the others are named after the source."""
    terminal: str | None = None
    place: Placement | None = None
    headless: bool = False
    commit_turns: bool = False
    push: str | None = None
    trust: bool = False
    """Mark the new folders as trusted in the agent's own settings."""
    ready_timeout: float = 60
    """Seconds for a fork to start before its long prompt is pasted."""


class ForkedWorker(Record, frozen=True):
    """Result of one of several forks."""

    fork: Fork | None = None
    worker: WorkerInfo | None = None
    error: ProngError | None = None
    """Why the fork does not exist, or does not run."""


def plan(
    app: App, point: str, options: ForkOptions, prompts: Sequence[str] = (), count: int = 1
) -> tuple[ForkPlan, int]:
    """Plan the first fork; return the plan and the number of forks. Writes nothing."""
    if len(prompts) > 1 and count not in (1, len(prompts)):
        raise UsageError(
            f"{count} forks and {len(prompts)} prompts", hint=f"--count {len(prompts)}"
        )
    number = max(count, len(prompts))
    first = prompts[0] if prompts else options.prompt
    first_options = replace(options, prompt=short(first)[0], count=number)
    return app.forks.plan(point, first_options), number


def check(app: App, names: Sequence[str], count: int) -> None:
    """Raise for invalid or taken names before anything is created."""
    if len(names) > count:
        raise UsageError(f"{len(names)} names for {count} forks", hint=f"--count {len(names)}")
    taken = {worker.name for worker in app.workers.records.all()}
    for at, name in enumerate(names):
        worker_names.free(name, app.stores, {*taken, *names[:at]})


def start(app: App, plan: ForkPlan, runs: ForkRuns, count: int = 1) -> Iterator[ForkedWorker]:
    """Create and start forks, yielding each when it runs or has failed.

    A failure does not stop the others. The agents start concurrently; a prompt that is too long for
    a command line is pasted, and its worker yielded, when the agent is ready.
    """
    check(app, runs.names, count)
    planning.require_program(app, plan)
    if not runs.headless:
        # Fail before anything is created.
        terminal = app.terminals.for_worker(runs.terminal)
        if count > 1 and isinstance(terminal, TakesOver):
            raise UsageError(
                f"{terminal.name} has room for one fork, not for {count}", hint="--terminal tmux"
            )
    slow: list[tuple[ForkedWorker, str]] = []
    for number in range(1, count + 1):
        prompt = _prompt(plan, runs, number)
        forked = _started(app, plan, runs, number, prompt)
        _, long = (None, None) if runs.headless else short(prompt)
        if forked.worker is not None and long is not None:
            slow.append((forked, long))
        else:
            yield forked
    for forked, long in slow:
        yield _asked(app, forked, long, runs.ready_timeout)


def fork(app: App, source: str, options: ForkOptions, turn: int | str | None = None) -> WorkerInfo:
    """Fork a worker or session and run the fork. It stays even if it does not run."""
    fork_plan, _ = plan(app, source if turn is None else f"{source}@{turn}", options)
    parent = app.workers.records.named(fork_plan.worker) if fork_plan.worker else None
    runs = ForkRuns(
        names=(options.name,) if options.name else (),
        prompts=(options.prompt,) if options.prompt else (),
        headless=parent is not None and parent.headless,
    )
    (forked,) = start(app, fork_plan, runs)
    if forked.error is not None:
        raise forked.error
    assert forked.worker is not None
    return forked.worker


def _started(
    app: App, first: ForkPlan, runs: ForkRuns, number: int, prompt: str | None
) -> ForkedWorker:
    created: Fork | None = None
    try:
        argument = None if runs.headless else short(prompt)[0]
        fork_plan = first if first.prompt == argument else planning.asking(app, first, argument)
        if number > 1:
            fork_plan = planning.again(app, fork_plan, number)
        created = app.forks.make(fork_plan)
        if runs.trust:
            _trust(app, fork_plan)
        run = _run(app, fork_plan, runs, number, prompt)
        return ForkedWorker(created, app.workers.open_fork(created, run))
    except ProngError as error:
        if created is not None:
            error = worker_starting.with_fork(error, created)
        return ForkedWorker(created, error=error)


def _trust(app: App, plan: ForkPlan) -> None:
    store = app.store(plan.agent)
    if not store.is_trusted(plan.workspace):
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
        # A fork with its own branch inherits commit_turns from its source.
        commit_turns=runs.commit_turns or (source is not None and source.commit_turns),
        push=runs.push or (source.push if source else None),
    )


def _asked(app: App, one: ForkedWorker, prompt: str, timeout: float) -> ForkedWorker:
    """Paste the long prompt of a fork once its agent is ready."""
    assert one.worker is not None
    name = one.worker.name
    try:
        app.workers.ready(name, timeout)
        # A person may first have to trust the new folder.
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
