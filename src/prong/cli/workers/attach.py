"""`prong attach`: attach to a worker's pane."""

import click

from prong.cli.arguments import worker_argument
from prong.cli.launch import run_here
from prong.cli.output import can_ask, json_option, open_app, print_json, styled
from prong.views.command_line import command_line


@click.command()
@worker_argument
@json_option
def attach(name: str, as_json: bool) -> None:
    """Attach to a worker's pane.

    In the terminal that holds the pane, this moves the focus to it; in any other terminal, it shows
    the pane here. In a script it prints the command to attach.
    """
    from prong.views import json

    app = open_app()
    launch = app.workers.attach(name)
    if as_json:
        print_json({"worker": name, **(json.launch(launch) if launch else {"command": None})})
    elif launch is not None and can_ask():
        run_here(launch)
    elif launch is not None:
        click.echo(styled(command_line(launch), bold=True))
