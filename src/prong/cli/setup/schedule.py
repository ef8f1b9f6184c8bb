"""`prong schedule`: regular index updates and exports, run by the system."""

import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from prong.cli.output import can_ask, json_option, note, open_app, print_json, styled
from prong.cli.setup.edit_report import print_edit
from prong.errors import UsageError
from prong.views.text import clean

if TYPE_CHECKING:
    from prong.app import App
    from prong.setup.schedule import SchedulePlan

C = TypeVar("C", bound=Callable[..., Any])

_SPAN = re.compile(r"(\d{1,4})\s*(m|min|h|d)", re.IGNORECASE)
_UNITS = {
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
_LEAST = timedelta(minutes=10)
_MOST = timedelta(days=30)
_COLOURS = {"installed": "green", "outdated": "yellow", "off": "yellow", "unknown": "yellow"}


class _Span(click.ParamType[timedelta]):
    """An interval: `6h`, `30m`, `1d`."""

    name = "span"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        if isinstance(value, timedelta):
            return value
        match = _SPAN.fullmatch(str(value).strip())
        span = int(match[1]) * _UNITS[match[2].lower()] if match else timedelta()
        if not _LEAST <= span <= _MOST:
            self.fail(f"{value!r} is not an interval from 10m to 30d; try 6h", param, ctx)
        return span


def _with_option(command: C) -> C:
    return click.option(
        "--with",
        "scheduler",
        type=click.Choice(["systemd", "launchd", "cron"]),
        help="Scheduler to use (default: the first one available).",
    )(command)


def _change_options(command: C) -> C:
    for option in (
        click.option("--dry-run", is_flag=True, help="Show the plan and change nothing."),
        click.option("--yes", "-y", is_flag=True, help="Skip confirmation prompts."),
    ):
        command = option(command)
    return command


@click.group()
def schedule() -> None:
    """Schedule index updates and exports."""


@schedule.command()
@click.option(
    "--every", type=_Span(), default="6h", show_default=True, help="Interval: 30m, 6h, 1d."
)
@click.option(
    "--export",
    "export_to",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Also run `prong export DIR`.",
)
@click.option(
    "--collection", metavar="NAME", help="With --export: refresh this qmd collection afterwards."
)
@_with_option
@_change_options
@json_option
def install(**given: Any) -> None:
    """Run `prong index` at regular intervals.

    Uses systemd, launchd or cron. Shows what it will write and asks first. The job does not get the
    environment variables of your shell.
    """
    app = open_app()
    folder = Path(given["export_to"]) if given["export_to"] else None
    plan = app.setup.schedule.plan_install(
        given["every"], folder, scheduler=given["scheduler"], collection=given["collection"]
    )
    _carry_out(app, [plan], given)


@schedule.command()
@_with_option
@_change_options
@json_option
def remove(**given: Any) -> None:
    """Remove what `prong schedule install` wrote, and nothing else."""
    app = open_app()
    plans = app.setup.schedule.plan_remove(given["scheduler"])
    if not plans and not given["as_json"]:
        click.echo("nothing is scheduled")
    _carry_out(app, plans, given)


@schedule.command()
@json_option
def status(as_json: bool) -> None:
    """Show the scheduled job and its next run."""
    from prong.setup.schedule import status_view

    statuses = open_app().setup.schedule.status()
    if as_json:
        print_json({"schedules": [status_view(job) for job in statuses]})
        return
    jobs = [job for job in statuses if job.state != "none"]
    for job in jobs:
        state = styled(job.state.value, fg=_COLOURS[job.state.value])
        times = f", every {_spoken(job.every)}" if job.every else ""
        next_run = f", next {job.next_run.astimezone():%Y-%m-%d %H:%M}" if job.next_run else ""
        click.echo(f"{job.scheduler}: {state}{times}{next_run}")
        for command in job.commands:
            click.echo(f"  {clean(command)}")
        if job.problem:
            note(job.problem)
        if job.state != "installed":
            note("try: prong schedule install")
    if not jobs:
        click.echo("nothing is scheduled")


def _spoken(span: timedelta) -> str:
    minutes = round(span.total_seconds()) // 60
    for name, size in (("d", 1440), ("h", 60)):
        if minutes % size == 0:
            return f"{minutes // size}{name}"
    return f"{minutes}m"


def _carry_out(app: "App", plans: "Sequence[SchedulePlan]", given: dict[str, Any]) -> None:
    from prong.setup.schedule import plan_view

    as_json, dry_run = given["as_json"], given["dry_run"]
    if not as_json:
        for plan in plans:
            _show(plan)
    changes = [plan for plan in plans if plan.needed]
    if changes and not dry_run and not given["yes"]:
        if as_json or not can_ask():
            hint = "--yes, or --dry-run to see it"
            raise UsageError("this changes your scheduled jobs", hint=hint)
        click.confirm("Do this?", default=False, abort=True, err=True)
    if not dry_run:
        for plan in changes:
            app.setup.schedule.change(plan)
            if not as_json:
                outcome = "removed" if plan.remove else "installed"
                click.echo(f"{plan.scheduler}: {styled(outcome, fg='green')}")
    if as_json:
        print_json({"schedules": [plan_view(plan, done=not dry_run) for plan in plans]})


def _show(plan: "SchedulePlan") -> None:
    if not plan.needed:
        click.echo(f"{plan.scheduler}: already installed")
    for edit in plan.edits:
        if edit.before == edit.after:
            continue
        print_edit(edit)
    for words in plan.notes:
        note(f"note: {words}")
