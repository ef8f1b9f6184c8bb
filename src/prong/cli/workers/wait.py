"""`prong wait`: wait until workers are idle."""

from math import inf
from typing import TYPE_CHECKING

import click

from prong.cli.arguments import WorkerArgument
from prong.cli.output import json_option, note, open_app, print_json
from prong.cli.spinner import spinner
from prong.cli.workers.worker_report import going_on, print_state
from prong.errors import Busy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prong.model.workers import WorkerStatus


@click.command()
@click.argument("names", type=WorkerArgument(), metavar="NAME...", nargs=-1, required=True)
@click.option("--any", "any_", is_flag=True, help="Return as soon as one worker is idle.")
@click.option(
    "--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Time limit (default: none)."
)
@json_option
def wait(names: tuple[str, ...], any_: bool, timeout: float | None, as_json: bool) -> None:
    """Wait until workers are idle.

    The exit status is 4 if a worker needs input or has ended, which no waiting would change, or if
    the time limit is reached.
    """
    from prong.views import workers

    app = open_app()
    unique = list(dict.fromkeys(names))
    with spinner(f"waiting for {', '.join(unique)} (Ctrl-C stops) ..."):
        statuses = app.workers.states.wait(
            unique, any_=any_, timeout=inf if timeout is None else timeout
        )
    if as_json:
        print_json({"workers": [workers.status(status) for status in statuses]})
    else:
        for status in statuses:
            print_state(status)
            _say_what_to_do(status)
    if not _is_done(statuses, any_=any_):
        click.get_current_context().exit(Busy.exit_code)


def _is_done(found: "Sequence[WorkerStatus]", *, any_: bool) -> bool:
    idle = [status.state.value == "idle" for status in found]
    return any(idle) if any_ else all(idle)


def _say_what_to_do(status: "WorkerStatus") -> None:
    name = status.worker.name
    if status.state.value == "waiting":
        note(f"it is waiting for input: prong attach {name}")
    elif status.state.value == "gone":
        note(going_on(status.worker))
