"""`prong turns`: list the turns of a session."""

import click

from prong.cli.arguments import SESSION, json_option
from prong.cli.output import note, open_app, patience, print_json, styled, width
from prong.cli.sessions.transcript import print_header
from prong.code import gaps as code_gaps
from prong.model.amounts import counted
from prong.model.sessions import Conversation
from prong.views import json
from prong.views.text import clean, short_ids
from prong.views.turn_table import Layout, row


@click.command()
@click.argument("session", type=SESSION, metavar="SESSION")
@click.option("--all", "everything", is_flag=True, help="Include turns abandoned by rewinds.")
@json_option
def turns(session: str, everything: bool, as_json: bool) -> None:
    """List the turns of a session.

    Code: `+3 -1` are lines added and removed, `=` means no code changed, and `*` that the code was
    captured, but not that of the turn before. `~` marks a late capture, which may contain later
    changes. `?` marks an incomplete capture; the line below says why. Without any of them, no code
    was captured: see `prong hooks install`.

    Turns: `!` interrupted, `x` failed, `>` running. `+2` after a prompt counts the prompts that
    were typed while the agent was busy. Other commands take the numbers: `prong show SESSION@12`.
    """
    app = open_app()
    with patience():
        point = app.sessions.resolve(session)
        conversation = app.code.with_code(app.sessions.conversation(point.session))
    if point.turn is not None:
        app.sessions.turn(conversation, point.turn)
    if as_json:
        print_json(json.conversation(conversation))
        return
    print_header(conversation.session)
    _print_table(conversation, abandoned=everything)
    if conversation.abandoned and not everything:
        count = counted(len(conversation.abandoned), "turn")
        note(f"{count} abandoned by rewinds: prong turns {session} --all")
    if conversation.skipped:
        note(f"{counted(len(conversation.skipped), 'line')} could not be read")


def _print_table(conversation: Conversation, *, abandoned: bool) -> None:
    short = short_ids([turn.id for turn in (*conversation.turns, *conversation.abandoned)])
    turns = (*conversation.turns, *(conversation.abandoned if abandoned else ()))
    rows = [
        row(turn, f"@{short[turn.id]}" if turn.index is None else str(turn.index)) for turn in turns
    ]
    layout = Layout(rows, width())
    count, gaps = len(conversation.turns), None
    if not count:
        note("no turns")
    for number, (turn, cells) in enumerate(zip(turns, rows, strict=True), start=1):
        if number == count + 1:
            click.echo(styled("abandoned by rewinds:", dim=True))
        start, prompt = layout.parts(cells)
        click.echo(f"{styled(start, dim=True)}{prompt}")
        # What the captured code lacks is reported only where it changes from turn to turn.
        before, gaps = gaps, code_gaps.summary(turn.gaps)
        events = [clean(gaps)] if gaps and gaps != before else []
        for event in events + (_events(conversation, number) if number <= count else []):
            click.echo(styled(f"{'':>{layout.label}}-- {event}", dim=True))


def _events(conversation: Conversation, number: int) -> list[str]:
    """Return what happened after the turn with this number."""
    session = conversation.session
    forked = session.parent is not None and number == session.inherited
    events = [f"forked here from {clean(str(session.parent))}"] if forked else []
    return events + ["compacted here"] * conversation.compactions.count(number)
