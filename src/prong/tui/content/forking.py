"""Planning and creating the fork that the fork dialog describes. Runs in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from prong.errors import ProngError
from prong.forks.context_window import BudgetLevel, level
from prong.forks.request import ForkRequest
from prong.model.forks import Code, Fork, ForkPlan, Launch, Method
from prong.model.record import Record
from prong.model.workers import WorkerStatus
from prong.tui.content.form_words import in_the_form
from prong.views.command_line import command_line
from prong.views.fork_plan import code
from prong.views.text import clean, short_path
from prong.workers.launch.fork import ForkedWorker
from prong.workers.request import WorkerRequest

if TYPE_CHECKING:
    from prong.app import App

Run = Literal["pane", "here", "later"]
"""Where a fork runs: in a new pane, in this terminal, or not yet."""


class Wish(Record, frozen=True):
    """Settings of the fork dialog. Omitted ones have the defaults of `prong fork`."""

    point: str
    agent: str | None = None
    method: str = Method.COPY.value
    code: str | None = None
    branch: str | None = None
    into: str | None = None
    prompt: str | None = None
    full: bool = False
    """Whether to restore the messages that compactions summarized."""
    count: int = 1

    @property
    def options(self) -> ForkRequest:
        return ForkRequest(
            agent=self.agent,
            into=Path(self.into) if self.into else None,
            method=Method(self.method),
            code=Code(self.code) if self.code else None,
            branch=self.branch,
            prompt=self.prompt,
            before_compaction=self.full,
            count=self.count,
        )


class Planned(Record, frozen=True):
    """A fork plan with its descriptions for the dialog."""

    plan: ForkPlan
    code: str
    """The code that the fork starts with."""
    level: BudgetLevel
    """How full the model's window would be."""
    command: str
    turns: tuple[tuple[str, str], ...]
    """The turns to fork at: reference after the `@`, and prompt."""
    has_compactions: bool
    has_panes: bool
    """Whether this terminal can open panes."""


class NewFork(Record, frozen=True):
    """The created forks."""

    plan: ForkPlan
    forks: tuple[Fork, ...]
    workers: tuple[str, ...] = ()
    errors: tuple[ProngError, ...] = ()
    launch: Launch | None = None
    """Command that runs the fork, if it does not run yet."""


def plan(app: App, wish: Wish) -> Planned:
    """Plan a fork, without writing anything."""
    planned = app.workers.forks.plan(wish.point, wish.options, count=wish.count)
    conversation = app.forks.source(planned.source).conversation
    turns = [
        (turn.id, f"{turn.index}: {clean(turn.prompt)}")
        for turn in conversation.turns
        if turn.index is not None
    ]
    abandoned = next(
        (turn for turn in conversation.abandoned if turn.id == planned.point.turn_id), None
    )
    if abandoned is not None:
        turns.append((abandoned.id, f"{abandoned.id[:8]}: {clean(abandoned.prompt)}"))
    return Planned(
        planned,
        code(app.forks, app.code, planned) if planned.worktree else "no code is touched",
        level(planned.tokens, planned.window),
        command_line(planned.launch),
        (("0", "0: before the first prompt"), *turns),
        any(number <= (planned.point.turn or 0) for number in conversation.compactions),
        app.terminals.here() is not None,
    )


def make(app: App, planned: ForkPlan, wish: Wish, run: Run) -> NewFork:
    """Create the forks, and start them as requested if the agent is installed."""
    if planned.missing is not None:
        return NewFork(planned, tuple(app.forks.make_several(planned, wish.count)))
    if run == "pane":
        request = WorkerRequest(prompt=wish.prompt or None)
        return _started(planned, list(app.workers.forks.start(planned, request, wish.count)))
    forks = tuple(app.forks.make_several(planned, wish.count))
    launch = forks[0].launch
    if launch is not None:
        launch = app.setup.hooks.for_one_run(planned.agent, launch)
    return NewFork(planned, forks, launch=launch)


def _started(planned: ForkPlan, done: Sequence[ForkedWorker]) -> NewFork:
    errors = tuple(result.error for result in done if result.error is not None)
    forks = tuple(result.fork for result in done if result.fork is not None)
    if not forks and errors:
        raise errors[0]
    workers = tuple(result.worker.name for result in done if result.worker is not None)
    launch = forks[0].launch if not workers else None
    return NewFork(planned, forks, workers, errors, launch)


def ready(app: App, name: str) -> WorkerStatus:
    """Wait until a worker has started and opened its session."""
    return app.workers.states.ready(name)


def told(made: NewFork) -> list[tuple[str, str]]:
    """Describe the result as lines of style and text."""
    lines: list[tuple[str, str]] = []
    for number, fork in enumerate(made.forks):
        lines.append(("good", f"forked {fork.parent} into {fork.child}"))
        if number < len(made.workers):
            lines.append(("", f"runs as {made.workers[number]}"))
        if fork.workspace is not None:
            branch = f" on {fork.branch}" if fork.branch else ""
            lines.append(("dim", f"in {short_path(str(fork.workspace))}{branch}"))
    if any(fork.method is Method.SEED for fork in made.forks):
        answered = all(fork.seed_ack_filtered for fork in made.forks)
        waiting = answered and made.plan.prompt is None
        note = "; waiting for your next prompt" if waiting else ""
        lines.append(("good", f"Fork created; context injected{note}"))
    lines += [("warning", in_the_form(entry)) for fork in made.forks[:1] for entry in fork.warnings]
    for error in made.errors:
        hint = f" (try: {error.hint})" if error.hint else ""
        lines.append(("failed", f"{error.message}{hint}"))
    launch = made.forks[0].launch
    if made.launch is not None and launch is not None:
        # The command to print has no hooks: they are set only for runs from here.
        lines.append(("dim", command_line(launch)))
    return [(style, clean(text)) for style, text in lines]
