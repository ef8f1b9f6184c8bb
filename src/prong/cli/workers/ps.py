"""`prong ps`: list workers and their state."""

from typing import TYPE_CHECKING

import click

from prong.cli.output import json_option, note, open_app, patience, print_json
from prong.cli.workers.worker_table import print_workers
from prong.model.amounts import counted
from prong.views.text import clean

if TYPE_CHECKING:
    from prong.model.workers import WorkerStatus

_NONE = 'no workers; prong run "..." starts one'


@click.command()
@click.option(
    "--all", "everything", is_flag=True, help="Include workers that were stopped or are long gone."
)
@json_option
def ps(everything: bool, as_json: bool) -> None:
    """List workers and their state.

    `age` is the time spent in the current state. A worker that ended by itself, or with the
    machine, is `gone` and can be restarted. Workers that were stopped, or have been gone for a
    week, are listed with --all only.
    """
    from prong.views import workers
    from prong.workers.service import recent

    app = open_app()
    with patience("looking at workers ..."):
        statuses = app.workers.states.all()
    shown = statuses
    if not everything:
        shown = [status for status in recent(statuses) if not _is_stopped(status)]
    if as_json:
        print_json({"workers": [workers.worker(status) for status in shown]})
        return
    print_workers(shown)
    for status in shown:
        if status.state.value == "gone" and not _is_stopped(status):
            note(f"{status.worker.name} is gone: prong restart {status.worker.name}")
    for status in shown:
        if status.push_failure:
            reason = clean(status.push_failure)
            note(f"{status.worker.name} was not pushed to {status.worker.push}: {reason}")
    if hidden := len(statuses) - len(shown):
        note(f"{counted(hidden, 'worker')} left out, stopped or long gone: prong ps --all")
    elif not shown:
        note(_NONE)


def _is_stopped(one: "WorkerStatus") -> bool:
    """Return whether a person stopped it and it has ended."""
    return one.worker.stopped is not None and one.state.value == "gone"
