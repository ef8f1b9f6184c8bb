"""`prong serve`: serve workers to other programs over a unix socket."""

import sys
from importlib import import_module
from pathlib import Path

import click

from prong.cli.output import json_option, note, open_app, print_json, styled
from prong.views.text import clean, short_path


@click.command()
@json_option
def serve(as_json: bool) -> None:
    """Serve workers to other programs over a unix socket.

    Runs until Ctrl-C; workers keep running. Programs can start, fork, prompt and stop workers with
    HTTP and JSON, and `prong wait` is notified of changes instead of polling. No command needs it.
    """

    def ready(socket: Path) -> None:
        if as_json:
            print_json({"socket": str(socket)})
        else:
            click.echo(f"{styled('serving', fg='green')} {clean(short_path(str(socket)))}")
            note("press Ctrl-C to stop; workers keep running")
        sys.stdout.flush()

    # Front ends do not import each other; this one only starts the other.
    import_module("prong.serve.server").run(open_app(), ready)
