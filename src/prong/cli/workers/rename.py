"""`prong rename`: rename a worker."""

import click

from prong.cli.arguments import WorkerArgument
from prong.cli.output import json_option, open_app, print_json, styled


@click.command()
@click.argument("old", type=WorkerArgument(), metavar="OLD")
@click.argument("new", metavar="NEW")
@json_option
def rename(old: str, new: str, as_json: bool) -> None:
    """Rename a worker."""
    app = open_app()
    app.workers.rename(old, new)
    if as_json:
        print_json({"worker": new, "old": old})
    else:
        click.echo(f"{old} is {styled(new, fg='cyan')} now")
