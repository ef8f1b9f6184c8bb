"""`prong show`: show the transcript of a session or of one turn."""

import sys
from collections.abc import Iterable

import click

from prong.cli.arguments import json_option, session_argument
from prong.cli.output import note, open_app, patience, print_json
from prong.cli.sessions.transcript import TranscriptPage
from prong.errors import UsageError
from prong.model.sessions import View
from prong.session.transcript import paired
from prong.views import json
from prong.views.text import clean, escaped


@click.command()
@session_argument
@click.option("--full", is_flag=True, help="Include thinking and complete tool input and output.")
@click.option("--raw", is_flag=True, help="Print the lines of the session file unchanged.")
@click.option("--context", is_flag=True, help="Show what a resumed agent would send to the model.")
@json_option
def show(session: str, full: bool, raw: bool, context: bool, as_json: bool) -> None:
    """Show the transcript of a session or of one turn.

    `>` marks a prompt, `*` a tool call.
    """
    if raw and (full or context or as_json):
        raise UsageError("--raw takes no other options", hint="prong show SESSION --raw")
    app = open_app()
    with patience():
        point = app.sessions.resolve(session)
        conversation = app.sessions.conversation(point.session) if point.turn is not None else None
    turn = None
    if conversation is not None:
        turn = app.sessions.turn(conversation, point.turn or "")
        if turn is None:
            raise UsageError(
                "turn 0 is before the first prompt: nothing to show",
                hint=f"prong turns {point.session.ref}",
            )
    if context and turn is not None:
        raise UsageError(
            "--context needs a whole session, not one turn",
            hint=f"prong show {point.session.ref} --context",
        )
    if raw:
        _print_raw(app.sessions.raw(point.session, turn=turn))
        return
    view = View.CONTEXT if context else View.HISTORY
    messages = paired(app.sessions.messages(point.session, view=view, turn=turn))
    if as_json:
        entries = [json.message(message) for message in messages]
        print_json({"session": json.session(point.session), "messages": entries})
        return
    page = TranscriptPage(point.session.cwd, header=point.session, full=full)
    if turn is not None and turn.index is None:
        page.rule(f"turn {clean(turn.id)}, abandoned by a rewind")
    for message in messages:
        page.add(message)
    if page.is_empty:
        note("no messages")


def _print_raw(lines: Iterable[bytes]) -> None:
    on_terminal = sys.stdout.isatty()
    for line in lines:
        # --raw prints bytes unchanged, but a terminal would obey control characters.
        click.echo(escaped(line.decode("utf-8", "replace")) if on_terminal else line)
