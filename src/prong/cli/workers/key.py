"""`prong key`: send keys to a worker's pane."""

import click

from prong.cli.arguments import worker_argument
from prong.cli.output import json_option, open_app, print_json


@click.command()
@worker_argument
@click.argument("keys", metavar="KEY...", nargs=-1, required=True)
@json_option
def key(name: str, keys: tuple[str, ...], as_json: bool) -> None:
    """Send keys to a worker's pane.

    KEY is a name such as Enter, Escape, Tab, Up, Down or C-c, or a single character. For example,
    `prong key NAME Down Enter` answers a dialog.
    """
    app = open_app()
    app.workers.prompts.press(name, *keys)
    if as_json:
        print_json({"worker": name, "keys": list(keys)})
