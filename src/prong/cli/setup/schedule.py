"""`prong schedule`: regular index updates and exports, run by the system."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from prong.cli.arguments import json_option
from prong.cli.output import note, open_app, print_json, styled
from prong.cli.setup.changes import (
    Changes,
    change_options,
    print_edit,
    print_notes,
    print_outcome,
)
from prong.setup.schedule import SchedulePlan, ScheduleSetup
from prong.views.setup import schedule_plan, schedule_status
from prong.views.text import clean

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


_with_option = click.option(
    "--with",
    "scheduler",
    type=click.Choice(["systemd", "launchd", "cron"]),
    help="Scheduler to use (default: the first one available).",
)


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
@change_options
def install(**given: Any) -> None:
    """Run `prong index` at regular intervals.

    Uses systemd, launchd or cron. Shows what it will write and asks first. The job does not get the
    environment variables of your shell.
    """
    setup = open_app().setup.schedule
    folder = Path(given["export_to"]) if given["export_to"] else None
    plan = setup.plan_install(
        given["every"], folder, scheduler=given["scheduler"], collection=given["collection"]
    )
    _ScheduleChanges(setup, given).carry_out([plan])


@schedule.command()
@_with_option
@change_options
def remove(**given: Any) -> None:
    """Remove what `prong schedule install` wrote, and nothing else."""
    setup = open_app().setup.schedule
    plans = setup.plan_remove(given["scheduler"])
    if not plans and not given["as_json"]:
        click.echo("nothing is scheduled")
    _ScheduleChanges(setup, given).carry_out(plans)


@schedule.command()
@json_option
def status(as_json: bool) -> None:
    """Show the scheduled job and its next run."""
    statuses = open_app().setup.schedule.status()
    if as_json:
        print_json({"schedules": [schedule_status(item) for item in statuses]})
        return
    existing = [item for item in statuses if item.state != "none"]
    for item in existing:
        job = item.job
        state = styled(item.state.value, fg=_COLOURS[item.state.value])
        times = f", every {_spoken(job.every)}" if job.every else ""
        next_run = f", next {job.next_run.astimezone():%Y-%m-%d %H:%M}" if job.next_run else ""
        click.echo(f"{item.scheduler}: {state}{times}{next_run}")
        for command in job.commands:
            click.echo(f"  {clean(command)}")
        if item.problem:
            note(item.problem)
        if item.state != "installed":
            note("try: prong schedule install")
    if not existing:
        click.echo("nothing is scheduled")


def _spoken(span: timedelta) -> str:
    minutes = round(span.total_seconds()) // 60
    for name, size in (("d", 1440), ("h", 60)):
        if minutes % size == 0:
            return f"{minutes // size}{name}"
    return f"{minutes}m"


class _ScheduleChanges(Changes[SchedulePlan]):
    name = "schedules"
    refusal = "this changes your scheduled jobs"

    def __init__(self, setup: ScheduleSetup, given: dict[str, Any]) -> None:
        super().__init__(given)
        self._setup = setup

    def is_needed(self, plan: SchedulePlan) -> bool:
        return plan.needed

    def change(self, plan: SchedulePlan) -> None:
        self._setup.change(plan)

    def show(self, plan: SchedulePlan) -> None:
        if not plan.needed:
            click.echo(f"{plan.scheduler}: already installed")
        for edit in plan.edits:
            if edit.before != edit.after:
                print_edit(edit)
        print_notes(plan.notes)

    def report(self, plan: SchedulePlan) -> None:
        print_outcome(plan.scheduler, removed=plan.remove)

    def view(self, plan: SchedulePlan, *, done: bool) -> dict[str, Any]:
        return schedule_plan(plan, done=done)
