"""`prong resume`: resume a session."""

from typing import TYPE_CHECKING

import click

from prong.cli.arguments import SessionArgument
from prong.cli.launch import become
from prong.cli.output import json_option, note, open_app, patience, print_json, read_prompt, styled
from prong.cli.workers.panes import terminal_option
from prong.cli.workers.started import READY_SECONDS, report
from prong.errors import UsageError
from prong.views.command_line import command_line

if TYPE_CHECKING:
    from prong.app import App


@click.command()
@click.argument("session", type=SessionArgument(), metavar="SESSION")
@click.option("--prompt", "-p", metavar="TEXT", help="Next prompt; - reads stdin.")
@terminal_option
@click.option("--exec", "run", is_flag=True, help="Run the command in this terminal.")
@json_option
def resume(
    session: str, prompt: str | None, terminal: str | None, run: bool, as_json: bool
) -> None:
    """Resume a session.

    Prints the command that resumes it in its own folder, with the right flags. --exec runs the
    command here, --terminal in a new pane.
    """
    from prong.views import json

    if run and (as_json or terminal):
        raise UsageError("--exec runs it in this terminal", hint="leave --exec out")
    if terminal and as_json:
        raise UsageError("--json cannot open a pane", hint=f"prong run --resume {session} --json")
    app = open_app()
    with patience():
        point = app.sessions.resolve(session)
        is_hit = session.startswith("%") and "@" not in session
        if point.turn is not None and not is_hit:
            hint = f"prong fork {session}"
            raise UsageError("a session can only be resumed at its end", hint=hint)
        text = read_prompt(prompt)
        launch = app.sessions.resume(point.session, text)
    if point.turn is not None and not as_json:
        note(f"this resumes at the end of the session; prong fork {session} starts at the hit")
    if as_json:
        print_json({"session": str(point.session.ref), **json.launch(launch)})
    elif terminal:
        _open(app, str(point.session.ref), text, terminal)
    elif run:
        become(app, point.session.agent, launch)
    else:
        click.echo(styled(command_line(launch), bold=True))


def _open(app: "App", session: str, prompt: str | None, terminal: str) -> None:
    """Resume a session in a new pane, as a worker."""
    from prong.workers.request import WorkerRequest

    options = WorkerRequest(resume=session, prompt=prompt, terminal=terminal)
    with patience("starting ..."):
        worker = app.workers.starter.start(app.workers.planner.plan(options))
    report(app, worker, seconds=READY_SECONDS, as_json=False)
