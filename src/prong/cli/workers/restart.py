"""`prong restart`: restart a worker that is gone or was stopped."""

from typing import Any

import click

from prong.cli.arguments import worker_argument
from prong.cli.output import json_option, open_app, patience, print_json
from prong.cli.workers.panes import pane_options, placement
from prong.cli.workers.started import ready_option, report, view


@click.command()
@worker_argument
@pane_options
@ready_option
@json_option
def restart(name: str, **given: Any) -> None:
    """Restart a worker that is gone or was stopped.

    Resumes its session in the same folder, with the same command and settings.
    """
    app = open_app()
    with patience("starting ..."):
        worker = app.workers.starter.restart(
            name, terminal=given["terminal"], place=placement(given)
        )
    as_json: bool = given["as_json"]
    status = report(app, worker, said="restarted", seconds=given["ready_timeout"], as_json=as_json)
    if as_json:
        print_json(view(status))
