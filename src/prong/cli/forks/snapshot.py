"""`prong snapshot`: capture the current code as that of the last turn."""

from datetime import UTC, datetime

import click

from prong.cli.arguments import SESSION, json_option
from prong.cli.output import note, open_app, patience, print_json
from prong.errors import UsageError
from prong.model.amounts import counted
from prong.model.code import Snapshot
from prong.views import json
from prong.views.text import age, clean, short_path


@click.command()
@click.argument("session", type=SESSION, metavar="[SESSION]", default="last")
@click.option("--again", is_flag=True, help="Replace the snapshot that the turn already has.")
@json_option
def snapshot(session: str, again: bool, as_json: bool) -> None:
    """Capture the current code as that of the last turn.

    Uses the newest session in this folder unless you name another one. `prong hooks install` makes
    agents do this after every turn. The snapshot is a commit under a hidden ref: branches, index
    and files stay as they are.
    """
    app = open_app()
    start = datetime.now(UTC)
    with patience():
        point = app.sessions.resolve(session)
        if point.turn is not None:
            raise UsageError("the current code belongs to the last turn", hint="leave @TURN out")
        captured = app.code.keep(app.sessions.conversation(point.session), again=again)
    if as_json:
        print_json({"snapshot": json.snapshot(captured)})
        return
    _print(captured)
    if captured.taken < start:
        note(f"captured before ({age(captured.taken)}); replace it with --again")


def _print(taken: Snapshot) -> None:
    ref = clean(f"{taken.agent}:{taken.session}")
    state = "" if taken.changed else ", the same code as before"
    click.echo(f"{ref}@{taken.number}: {taken.commit[:12]} in {short_path(str(taken.repo))}{state}")
    if taken.degraded:
        note(f"not complete: {clean(taken.degraded)}")
    for item in taken.left_out:
        note(f"left out: {clean(item.path)} ({clean(item.reason)})")
    if taken.nested:
        note(f"{counted(len(taken.nested), 'repository', 'repositories')} inside it as well")
