"""`prong ps`."""

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
    from prong.workers import stop

    app = open_app()
    with patience("looking at workers ..."):
        found = app.workers.all()
    shown = found
    if not everything:
        shown = [one for one in stop.recent(found) if not _is_stopped(one)]
    if as_json:
        print_json({"workers": [workers.worker(one) for one in shown]})
        return
    print_workers(shown)
    for one in shown:
        if one.state.value == "gone" and not _is_stopped(one):
            note(f"{one.worker.name} is gone: prong restart {one.worker.name}")
    for one in shown:
        if one.push_failure:
            reason = clean(one.push_failure)
            note(f"{one.worker.name} was not pushed to {one.worker.push}: {reason}")
    if hidden := len(found) - len(shown):
        note(f"{counted(hidden, 'worker')} left out, stopped or long gone: prong ps --all")
    elif not shown:
        note(_NONE)


def _is_stopped(one: "WorkerStatus") -> bool:
    """By a person, and it has ended."""
    return one.worker.stopped is not None and one.state.value == "gone"
