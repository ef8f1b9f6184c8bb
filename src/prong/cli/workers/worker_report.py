"""A worker in words: what was started, where it runs, and what to type next."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from prong.cli.output import note, styled, width
from prong.views.command_line import command_line
from prong.views.text import age, clean, cut, short_path
from prong.views.worker_rows import COLOURS, details, place, places

if TYPE_CHECKING:
    from prong.model.workers import WorkerInfo, WorkerStatus
    from prong.workers.launch.plan import WorkerPlan

_NAME = 10
_FORK_NAME = 8
"""As wide as in the report of a fork, under which these rows stand."""


def print_started(worker: "WorkerInfo", said: str = "started", *, err: bool = False) -> None:
    """The block that follows a start; to stderr where the answer is something else."""
    agent = clean(worker.agent)
    click.echo(f"{styled(said, fg='green')} {styled(worker.name, fg='cyan')} ({agent})", err=err)
    print_rows(places(worker), indent="  ", err=err)
    _print_next(worker, err=err)


def print_pane(worker: "WorkerInfo") -> None:
    """Where a fork runs that was told of."""
    print_rows(
        iter((("worker", worker.name), ("pane", place(worker)))), indent="  ", size=_FORK_NAME
    )
    _print_next(worker)


def _print_next(worker: "WorkerInfo", *, err: bool = False) -> None:
    """What to type next."""
    if worker.pane is not None and worker.pane.terminal == "print":
        # Whole, however long: it is there to be copied.
        lines = [clean(worker.pane.id)]
    else:
        commands = [] if worker.headless else [f"prong attach {worker.name}"]
        commands.append(f'prong send {worker.name} "..."')
        together = "    ".join(commands)
        room = width()
        lines = [together] if room is None or len(together) + 2 <= room else commands
    for line in lines:
        click.echo(f"  {styled(line, bold=True)}", err=err)


def print_state(status: "WorkerStatus") -> None:
    """One line: what it does, since when, and who says so."""
    worker, evidence = status.worker, status.evidence
    state = styled(status.state.value, fg=COLOURS.get(status.state.value), bold=True)
    detail = f": {clean(evidence.detail)}" if evidence.detail else ""
    told = f"{age(evidence.time)} ({evidence.source})".strip()
    click.echo(f"{styled(worker.name, fg='cyan')} is {state}{detail}  {styled(told, dim=True)}")


def print_status(status: "WorkerStatus") -> None:
    """All that is known of one worker."""
    print_state(status)
    print_rows(details(status), indent="  ")


def print_plan(plan: "WorkerPlan") -> None:
    """What would be started."""
    print_rows(_planned(plan))
    # Whole, however long: it is there to be copied.
    if plan.launch is not None:
        click.echo(f"{styled('command'.ljust(_NAME), dim=True)}{command_line(plan.launch)}")


def print_rows(
    rows: Iterator[tuple[str, str]], *, indent: str = "", size: int = _NAME, err: bool = False
) -> None:
    room = width()
    for name, text in rows:
        if text:
            line = clean(text)
            line = line if room is None else cut(line, room - size - len(indent))
            click.echo(f"{indent}{styled(name.ljust(size), dim=True)}{line}", err=err)


def say_what_it_wants(status: "WorkerStatus") -> None:
    """A worker that waits for a person before it has begun."""
    worker = status.worker
    wants = f" ({status.evidence.detail})" if status.evidence.detail else ""
    note(f"{worker.name} is waiting for input{wants}: prong attach {worker.name}")


def going_on(worker: "WorkerInfo") -> str:
    """How to go on with a worker that has ended."""
    again = f'send {worker.name} "..."' if worker.headless else f"restart {worker.name}"
    return f"prong {again} resumes its session"


def _planned(plan: "WorkerPlan") -> Iterator[tuple[str, str]]:
    options = plan.options
    yield "name", plan.name
    yield "agent", plan.agent
    session = f"{plan.agent}:{plan.session}" if plan.session else ""
    yield "session", session or "chosen by the agent"
    if plan.fork is not None:
        yield "from", f"{plan.fork.point}  {plan.fork.source.title}"
    is_new = " (a new worktree)" if plan.worktree else ""
    yield "folder", f"{short_path(str(plan.workspace))}{is_new}"
    yield "branch", plan.worktree.branch if plan.worktree else ""
    yield "pane", "none: it is headless" if options.headless else _wanted_pane(plan)
    if not plan.trusted:
        trusts = f"is recorded in {short_path(str(plan.trust.path))}" if plan.trust else ""
        yield "trust", trusts or "the agent will ask for trust; --trust answers in advance"
    yield "prompt", options.prompt or ""
    for warning in plan.warnings:
        yield "note", warning


def _wanted_pane(plan: "WorkerPlan") -> str:
    options = plan.options
    place = f"as a {options.place.value}" if options.place else ""
    return ", ".join(part for part in (options.terminal, place) if part)
