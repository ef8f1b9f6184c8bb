"""`prong key`."""

import click

from prong.cli.arguments import worker_argument
from prong.cli.output import json_option, open_app, print_json


@click.command()
@worker_argument
@click.argument("keys", metavar="KEY...", nargs=-1, required=True)
@json_option
def key(name: str, keys: tuple[str, ...], as_json: bool) -> None:
    """Press keys in the pane of a worker.

    KEY is Enter, Escape, Tab, Up, Down, C-c and the like, or a single character: `prong key NAME
    Down Enter` answers a dialog.
    """
    app = open_app()
    app.workers.press(name, *keys)
    if as_json:
        print_json({"worker": name, "keys": list(keys)})
