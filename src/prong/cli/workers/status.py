"""`prong status`: show worker status and its evidence."""

import click

from prong.cli.arguments import worker_argument
from prong.cli.output import json_option, note, open_app, patience, print_json
from prong.cli.workers.worker_report import going_on, print_status


@click.command()
@worker_argument
@json_option
def status(name: str, as_json: bool) -> None:
    """Show worker status and its evidence."""
    from prong.views import workers

    app = open_app()
    with patience("looking at it ..."):
        worker_status = app.workers.states.status(name)
    if as_json:
        print_json(workers.status(worker_status))
        return
    print_status(worker_status)
    if worker_status.state.value == "gone":
        note(going_on(worker_status.worker))
    elif worker_status.state.value == "waiting":
        note(f"it is waiting for input: prong attach {worker_status.worker.name}")
