"""`prong resume`."""

import click

from prong.cli.arguments import SessionArgument
from prong.cli.launch import become, command_line
from prong.cli.output import json_option, note, open_app, patience, print_json, read_prompt, styled
from prong.errors import UsageError


@click.command()
@click.argument("session", type=SessionArgument(), metavar="SESSION")
@click.option("--prompt", "-p", metavar="TEXT", help="The next prompt; - reads it from stdin.")
@click.option("--exec", "run", is_flag=True, help="Become the agent, in the session's folder.")
@json_option
def resume(session: str, prompt: str | None, run: bool, as_json: bool) -> None:
    """Go on with a session itself, in its own folder.

    Shows the command, with the right flags and root; --exec runs it.
    """
    from prong.app import views

    if run and as_json:
        raise UsageError("--exec prints nothing", hint="leave --json or --exec out")
    app = open_app()
    with patience():
        found = app.resolve(session)
        is_hit = session.startswith("%") and "@" not in session
        if found.turn is not None and not is_hit:
            hint = f"prong fork {session}"
            raise UsageError("a session is resumed at its end", hint=hint)
        launch = app.resume(found.session, read_prompt(prompt))
    if found.turn is not None and not as_json:
        note(f"it goes on at its end; prong fork {session} goes on at the turn that was found")
    if as_json:
        print_json({"session": str(found.session.ref), **views.launch(launch)})
    elif run:
        become(app, found.session.agent, launch)
    else:
        click.echo(styled(command_line(launch), bold=True))
