"""`prong clone`: clone a worker."""

from math import inf
from typing import Any

import click

from prong.cli.arguments import SessionArgument
from prong.cli.output import can_ask, json_option, note, open_app, print_json
from prong.cli.spinner import spinner
from prong.cli.workers.panes import pane_options, placement
from prong.cli.workers.started import ready_option, report, view
from prong.errors import UsageError
from prong.views.text import clean


@click.command()
@click.argument("source", type=SessionArgument(), metavar="NAME|SESSION")
@click.argument("new", metavar="[NEW]", required=False)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Time limit for the source (default: none).",
)
@click.option("--no-ignored", is_flag=True, help="Leave out files that git ignores.")
@click.option("--trust", is_flag=True, help="Mark the new folder as trusted.")
@pane_options
@ready_option
@click.option("--yes", "-y", is_flag=True, help="Skip confirmation prompts.")
@json_option
def clone(source: str, new: str | None, timeout: float | None, **given: Any) -> None:
    """Clone a worker.

    Copies its workspace, conversation and settings to a new worker that runs in its own folder and
    session. Waits until the source is idle, and leaves it unchanged.
    """
    from prong.workers.request import WorkerRequest

    app = open_app()
    as_json: bool = given["as_json"]
    if given["trust"] and not given["yes"]:
        _ask_for_trust(quiet=as_json)
    name = clean(source)
    with spinner(f"cloning {name} ...") as say:

        def waiting(reason: str) -> None:
            progress = f"waiting until {name} is idle (Ctrl-C cancels)"
            say(f"{progress}: {clean(reason)} ...")

        worker = app.workers.cloner.clone(
            source,
            WorkerRequest(
                name=new, trust=given["trust"], terminal=given["terminal"], place=placement(given)
            ),
            ignored=not given["no_ignored"],
            timeout=inf if timeout is None else timeout,
            waiting=waiting,
        )
    for warning in () if as_json else worker.warnings:
        note(f"note: {warning}")
    status = report(app, worker, said="cloned", seconds=given["ready_timeout"], as_json=as_json)
    if as_json:
        print_json(view(status, warnings=list(worker.warnings)))


def _ask_for_trust(*, quiet: bool) -> None:
    """Ask before changing the agent's settings: only a person, or --yes, may agree."""
    if quiet or not can_ask():
        raise UsageError("--trust changes the agent's settings", hint="--yes")
    click.confirm("Let the agent work in the copy?", default=False, abort=True, err=True)
