"""`prong turns`."""

from typing import TYPE_CHECKING

import click

from prong.cli.arguments import SessionArgument
from prong.cli.output import json_option, note, open_app, print_json, styled, width
from prong.cli.text import age, cells, clean, cut, pad, short_ids, short_number

if TYPE_CHECKING:
    from prong.model import Conversation, Turn

_STATE_MARKS = {"finished": " ", "interrupted": "!", "failed": "x", "running": ">"}
_WIDE = 100


@click.command()
@click.argument("session", type=SessionArgument(), metavar="SESSION")
@click.option("--all", "everything", is_flag=True, help="Also the turns left behind by rewinds.")
@json_option
def turns(session: str, everything: bool, as_json: bool) -> None:
    """List the turns of a session.

    The marks: ! interrupted, x failed, > running. `+2` counts prompts that were typed while the
    agent was busy. Fork and show take the numbers: `prong show SESSION@12`.
    """
    from prong.app import views

    app = open_app()
    found = app.find(session)
    conversation = app.conversation(found.session)
    if found.turn is not None:
        app.turn(conversation, found.turn)
    if as_json:
        print_json(views.conversation(conversation))
        return
    _print_header(conversation)
    _print_turns(conversation)
    if everything:
        _print_abandoned(conversation)
    elif conversation.abandoned:
        count = len(conversation.abandoned)
        note(f"{count} turns left behind by rewinds: prong turns {session} --all")
    if conversation.skipped:
        note(f"{len(conversation.skipped)} lines could not be read")


def _print_header(conversation: "Conversation") -> None:
    session = conversation.session
    click.echo(styled(f"{session.ref}", fg="cyan") + f"  {clean(session.title)}")
    parts = [session.cwd, session.branch, session.model]
    click.echo(styled("  ".join(clean(part) for part in parts if part), dim=True))


def _print_turns(conversation: "Conversation") -> None:
    if not conversation.turns:
        note("no turns")
    inherited = conversation.session.inherited
    for turn in conversation.turns:
        number = turn.index or 0
        _print_turn(turn, f"{number:>3}")
        if inherited and number == inherited:
            click.echo(styled(f"    -- forked here from {conversation.session.parent}", dim=True))
        for _ in range(conversation.compactions.count(number)):
            click.echo(styled("    -- compacted here", dim=True))


def _print_abandoned(conversation: "Conversation") -> None:
    if not conversation.abandoned:
        return
    click.echo(styled("left behind by rewinds:", dim=True))
    short = short_ids([turn.id for turn in conversation.abandoned])
    for turn in conversation.abandoned:
        _print_turn(turn, f"@{short[turn.id]}")


def _print_turn(turn: "Turn", label: str) -> None:
    room = width()
    mark = _STATE_MARKS[turn.state.value]
    start = f"{label}{mark} {age(turn.started):>10}  "
    if room is None or room >= _WIDE:
        start += f"{_effort(turn)}  "
    text = clean(turn.prompt)
    if turn.kind.value != "human":
        text = f"[{turn.kind.value}] {text}"
    if turn.queued:
        text += f" +{len(turn.queued)}"
    if room is not None:
        text = cut(text, room - cells(start))
    click.echo(f"{styled(start, dim=True)}{text}")


def _effort(turn: "Turn") -> str:
    """What the turn cost and changed, in columns of a fixed width."""
    files = _counted(len(turn.files), "file")
    failed = sum(command.exit_code not in (0, None) for command in turn.commands)
    commands = _counted(len(turn.commands), "cmd") + (f", {failed} failed" if failed else "")
    tokens = short_number(turn.tokens)
    return " ".join(
        [
            pad(files, 8),
            pad(commands, 18),
            f"{tokens:>5}",
        ]
    )


def _counted(count: int, what: str) -> str:
    if not count:
        return ""
    return f"1 {what}" if count == 1 else f"{count} {what}s"
