"""`prong stop`: stop workers."""

from typing import TYPE_CHECKING

import click

from prong.cli.arguments import WorkerArgument
from prong.cli.output import can_ask, json_option, note, open_app, patience, print_json, styled
from prong.cli.workers.worker_report import going_on
from prong.errors import Busy

if TYPE_CHECKING:
    from prong.app import App


@click.command()
@click.argument("names", type=WorkerArgument(), metavar="NAME...", nargs=-1, required=True)
@click.option("--force", "-f", is_flag=True, help="Stop busy workers without asking.")
@click.option("--forget", is_flag=True, help="Also remove them from the list of workers.")
@json_option
def stop(names: tuple[str, ...], force: bool, forget: bool, as_json: bool) -> None:
    """Stop workers.

    Keeps their sessions and workspaces: `prong restart NAME` resumes a stopped worker. Asks before
    it stops a busy one.
    """
    app = open_app()
    for name in names:
        app.workers.records.get(name)  # a wrong name is an error before any worker is stopped
    asks = can_ask() and not as_json
    stopped: list[str] = []
    for name in dict.fromkeys(names):
        if _stopped(app, name, force=force, asks=asks):
            stopped.append(name)
            if forget:
                app.workers.forget(name)
            if not as_json:
                click.echo(f"{styled('stopped', fg='green')} {styled(name, fg='cyan')}")
    if as_json:
        print_json({"stopped": stopped})
    elif stopped and not forget:
        note(going_on(app.workers.records.get(stopped[0])))


def _stopped(app: "App", name: str, *, force: bool, asks: bool) -> bool:
    """Stop a worker; return False if the person chooses to keep a busy one running."""
    try:
        with patience(f"stopping {name} ..."):
            app.workers.stop(name, force=force)
    except Busy as error:
        if not asks:
            raise
        if not click.confirm(f"{error.message}. Stop it?", default=False, err=True):
            return False
        with patience(f"stopping {name} ..."):
            app.workers.stop(name, force=True)
    return True
