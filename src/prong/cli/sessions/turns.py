"""`prong turns`: list the turns of a session."""

import click

from prong.cli.arguments import SESSION, json_option
from prong.cli.output import note, open_app, patience, print_json, styled, width
from prong.cli.sessions.transcript import print_header
from prong.code import gaps as code_gaps
from prong.model.amounts import counted
from prong.model.sessions import Conversation, Turn
from prong.views import json
from prong.views.text import clean, short_ids
from prong.views.turn_table import Layout, TurnTableRow, row


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
    active = [row(turn, str(turn.index)) for turn in conversation.turns]
    short = short_ids([turn.id for turn in (*conversation.turns, *conversation.abandoned)])
    inactive = [row(turn, f"@{short[turn.id]}") for turn in conversation.abandoned if abandoned]
    layout = Layout([*active, *inactive], width())
    gaps = _Gaps()
    for number, (turn, cells) in enumerate(zip(conversation.turns, active, strict=True), start=1):
        _print(layout, cells)
        for event in (*gaps.of(turn), *_events(conversation, number)):
            click.echo(styled(f"{'':>{layout.label}}-- {event}", dim=True))
    if not active:
        note("no turns")
    if inactive:
        click.echo(styled("abandoned by rewinds:", dim=True))
    for turn, cells in zip(conversation.abandoned, inactive, strict=False):
        _print(layout, cells)
        for event in gaps.of(turn):
            click.echo(styled(f"{'':>{layout.label}}-- {event}", dim=True))


def _print(layout: Layout, one: TurnTableRow) -> None:
    start, prompt = layout.parts(one)
    click.echo(f"{styled(start, dim=True)}{prompt}")


class _Gaps:
    """What the captured code lacks, reported only where it changes from turn to turn."""

    def __init__(self) -> None:
        self._last: str | None = None

    def of(self, turn: Turn) -> list[str]:
        text = code_gaps.summary(turn.gaps)
        is_new, self._last = text != self._last, text
        return [clean(text)] if text and is_new else []


def _events(conversation: Conversation, number: int) -> list[str]:
    """Return what happened after the turn with this number."""
    session = conversation.session
    forked = session.parent is not None and number == session.inherited
    events = [f"forked here from {clean(str(session.parent))}"] if forked else []
    return events + ["compacted here"] * conversation.compactions.count(number)
