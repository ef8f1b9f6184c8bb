"""Reports on fork plans and created forks."""

from typing import TYPE_CHECKING

import click

from prong.cli.output import styled, width
from prong.views.command_line import command_line
from prong.views.fork_plan import code, plan_rows
from prong.views.text import clean, cut, short_path, wrapped

if TYPE_CHECKING:
    from prong.app import App
    from prong.model.forks import Fork, ForkPlan

_NAME = 8


def print_plan(app: "App", plan: "ForkPlan", *, count: int = 1, err: bool = False) -> None:
    room = width()
    for name, text in plan_rows(app.forks, app.code, plan, count):
        if not text:
            continue
        lines = [clean(text)]
        if room is not None:
            # Never cut warnings: they must be readable before the user agrees.
            cut_it = [cut(lines[0], room - _NAME)]
            lines = wrapped(lines[0], room - _NAME) if name == "note" else cut_it
        for number, line in enumerate(lines):
            label = name if number == 0 else ""
            click.echo(f"{styled(label.ljust(_NAME), dim=True)}{line}", err=err)
    # Never cut, because it is there to be copied.
    click.echo(f"{styled('command'.ljust(_NAME), dim=True)}{command_line(plan.launch)}", err=err)


def print_fork(app: "App", plan: "ForkPlan", made: "Fork", *, runs: bool = False) -> None:
    """Print the created fork, and the command that runs it unless it already runs."""
    parent, child = clean(str(made.parent)), clean(str(made.child))
    click.echo(f"{styled('forked', fg='green')} {parent} into {styled(child, fg='cyan')}")
    if made.method == "seed":
        waiting = "; waiting for your next prompt" if made.seed_ack_filtered else ""
        click.echo(f"Fork created; context injected{waiting}.")
    if made.path is not None:
        click.echo(f"  {styled(clean(short_path(str(made.path))), dim=True)}")
    if plan.worktree is not None:
        for name, text in (
            ("code", code(app.forks, app.code, plan)),
            ("folder", short_path(str(made.workspace or ""))),
            ("branch", made.branch or ""),
        ):
            click.echo(f"  {styled(name.ljust(_NAME), dim=True)}{clean(text)}")
    if made.launch is not None and not runs:
        click.echo(f"  {styled(command_line(made.launch), bold=True)}")
