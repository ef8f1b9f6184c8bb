"""`prong ui`: open the terminal UI."""

import os
import sys
from importlib import import_module

import click

from prong.cli.output import become, is_terminal
from prong.errors import Unavailable


@click.command()
@click.argument("intent", nargs=-1, metavar="[INTENT]...")
def ui(intent: tuple[str, ...]) -> None:
    """Open the terminal UI.

    Search, read turns and fork on a full screen. `prong` without a command does the same. INTENT is
    the first search. F1 shows the keys, Ctrl-C quits.
    """
    if not has_screen():
        raise Unavailable("this needs a terminal", hint='prong find "..." prints what it finds')
    show(" ".join(intent))


def has_screen() -> bool:
    """Return whether a full-screen UI can be shown and take keys."""
    # stderr may be a file but must be open: the next opened file would get its descriptor.
    has_streams = is_terminal(sys.stdin) and is_terminal(sys.stdout) and bool(sys.stderr)
    return has_streams and os.environ.get("TERM", "dumb") != "dumb"


def show(query: str = "") -> None:
    # Front ends do not import each other; this one only starts the other.
    launch = import_module("prong.tui.main").run(query)
    if launch is not None:
        become(launch)
