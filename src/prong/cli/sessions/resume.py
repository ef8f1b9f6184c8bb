"""`prong resume`: resume a session."""

import click

from prong.cli.arguments import SESSION, json_option, terminal_option
from prong.cli.output import (
    become,
    note,
    open_app,
    patience,
    print_json,
    read_prompt,
    styled,
)
from prong.cli.workers.report import WorkerReports
from prong.errors import UsageError
from prong.views import json
from prong.views.command_line import command_line
from prong.workers.request import WorkerRequest


@click.command()
@click.argument("session", type=SESSION, metavar="SESSION")
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
        wanted = WorkerRequest(resume=str(point.session.ref), prompt=text, terminal=terminal)
        with patience("starting ..."):
            worker = app.workers.starter.start(app.workers.planner.plan(wanted))
        WorkerReports(app.workers).report(worker)
    elif run:
        become(app.setup.hooks.for_one_run(point.session.agent, launch))
    else:
        click.echo(styled(command_line(launch), bold=True))
