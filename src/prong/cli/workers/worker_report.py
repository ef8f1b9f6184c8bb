"""Reports on workers: what was started, where it runs, and what to type next."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from prong.cli.output import note, styled, width
from prong.views.command_line import command_line
from prong.views.text import age, clean, cut, short_path
from prong.views.worker_rows import COLOURS, details, place, places

if TYPE_CHECKING:
    from prong.model.workers import WorkerInfo, WorkerStatus
    from prong.workers.request import WorkerPlan

_NAME = 10
_FORK_NAME = 8
"""Same as in the fork report, which these rows follow."""


def print_started(worker: "WorkerInfo", said: str = "started", *, err: bool = False) -> None:
    """Print the report after a start; to stderr if stdout is for the answer."""
    agent = clean(worker.agent)
    click.echo(f"{styled(said, fg='green')} {styled(worker.name, fg='cyan')} ({agent})", err=err)
    print_rows(places(worker), indent="  ", err=err)
    _print_next(worker, err=err)


def print_pane(worker: "WorkerInfo") -> None:
    """Print where a fork runs, below the fork report."""
    print_rows(
        iter((("worker", worker.name), ("pane", place(worker)))), indent="  ", size=_FORK_NAME
    )
    _print_next(worker)


def _print_next(worker: "WorkerInfo", *, err: bool = False) -> None:
    """Print the next commands to type."""
    if worker.pane is not None and worker.pane.terminal == "print":
        # Never cut, because it is there to be copied.
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
    """Print one line: state, since when, and the source of that evidence."""
    worker, evidence = status.worker, status.evidence
    state = styled(status.state.value, fg=COLOURS.get(status.state.value), bold=True)
    detail = f": {clean(evidence.detail)}" if evidence.detail else ""
    source = f"{age(evidence.time)} ({evidence.source})".strip()
    click.echo(f"{styled(worker.name, fg='cyan')} is {state}{detail}  {styled(source, dim=True)}")


def print_status(status: "WorkerStatus") -> None:
    """Print all that is known about a worker."""
    print_state(status)
    print_rows(details(status), indent="  ")


def print_plan(plan: "WorkerPlan") -> None:
    """Print what would be started."""
    print_rows(_planned(plan))
    # Never cut, because it is there to be copied.
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
    """Point to a worker that waits for input before it has started."""
    worker = status.worker
    request = f" ({status.evidence.detail})" if status.evidence.detail else ""
    note(f"{worker.name} is waiting for input{request}: prong attach {worker.name}")


def going_on(worker: "WorkerInfo") -> str:
    """Say how to resume a worker that has ended."""
    command = f'send {worker.name} "..."' if worker.headless else f"restart {worker.name}"
    return f"prong {command} resumes its session"


def _planned(plan: "WorkerPlan") -> Iterator[tuple[str, str]]:
    options = plan.request
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
    options = plan.request
    place = f"as a {options.place.value}" if options.place else ""
    return ", ".join(part for part in (options.terminal, place) if part)
