"""`prong turns`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from prong.cli.arguments import SessionArgument
from prong.cli.header import print_header
from prong.cli.output import json_option, note, open_app, patience, print_json, styled, width
from prong.cli.text import age, cells, clean, counted, cut, short_ids, short_number

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

    `+3 -1` are the lines that a turn added and removed; `=` when it changed no code, `*` when its
    code was kept, but not that of the turn before. Without any of them no code was captured: see
    `prong hooks install`.

    The marks: ! interrupted, x failed, > running. `+2` behind a prompt counts those that were typed
    while the agent was busy. Fork and show take the numbers: `prong show SESSION@12`.
    """
    from prong.app import views

    app = open_app()
    with patience():
        found = app.resolve(session)
        conversation = app.with_code(app.conversation(found.session))
    if found.turn is not None:
        app.turn(conversation, found.turn)
    if as_json:
        print_json(views.conversation(conversation))
        return
    print_header(conversation.session)
    _print_table(conversation, abandoned=everything)
    if conversation.abandoned and not everything:
        count = counted(len(conversation.abandoned), "turn")
        note(f"{count} left behind by rewinds: prong turns {session} --all")
    if conversation.skipped:
        note(f"{counted(len(conversation.skipped), 'line')} could not be read")


@dataclass(frozen=True)
class _Row:
    label: str
    when: str
    code: str
    files: str
    commands: str
    tokens: str
    prompt: str


def _print_table(conversation: "Conversation", *, abandoned: bool) -> None:
    active = [_row(turn, str(turn.index)) for turn in conversation.turns]
    short = short_ids([turn.id for turn in (*conversation.turns, *conversation.abandoned)])
    left = [_row(turn, f"@{short[turn.id]}") for turn in conversation.abandoned if abandoned]
    layout = _Layout([*active, *left])
    for number, row in enumerate(active, start=1):
        click.echo(layout.line(row))
        for event in _events(conversation, number):
            click.echo(styled(f"{'':>{layout.label}}-- {event}", dim=True))
    if not active:
        note("no turns")
    if left:
        click.echo(styled("left behind by rewinds:", dim=True))
    for row in left:
        click.echo(layout.line(row))


def _events(conversation: "Conversation", number: int) -> list[str]:
    """What happened behind the turn with this number."""
    session = conversation.session
    forked = session.parent is not None and number == session.inherited
    events = [f"forked here from {clean(str(session.parent))}"] if forked else []
    return events + ["compacted here"] * conversation.compactions.count(number)


def _row(turn: "Turn", label: str) -> _Row:
    failed = sum(command.exit_code not in (0, None) for command in turn.commands)
    prompt = clean(turn.prompt)
    if turn.kind.value != "human":
        prompt = f"[{turn.kind.value}] {prompt}"
    if turn.queued:
        prompt += f" +{len(turn.queued)}"
    commands = counted(len(turn.commands), "cmd") if turn.commands else ""
    return _Row(
        label=clean(label) + _STATE_MARKS[turn.state.value],
        when=age(turn.started),
        code=_code(turn),
        files=counted(len(turn.files), "file") if turn.files else "",
        commands=f"{commands}, {failed} failed" if failed else commands,
        tokens=short_number(turn.tokens),
        prompt=prompt,
    )


def _code(turn: "Turn") -> str:
    changes = turn.changes
    if changes is None:
        return "*" if turn.snapshot else ""
    if not changes.files:
        return "="
    return f"+{changes.added} -{changes.removed}"


class _Layout:
    """Columns as wide as what stands in them. In a narrow terminal there are fewer."""

    def __init__(self, rows: Sequence[_Row]) -> None:
        self.room = width()
        self.label = max(_widest(row.label for row in rows), 4)
        self.when = _widest(row.when for row in rows)
        self.code = _widest(row.code for row in rows)
        wide = self.room is None or self.room >= _WIDE
        self.files = _widest(row.files for row in rows) if wide else 0
        self.commands = _widest(row.commands for row in rows) if wide else 0
        self.tokens = _widest(row.tokens for row in rows) if wide else 0

    def line(self, row: _Row) -> str:
        start = f"{row.label:>{self.label}} {row.when:>{self.when}}  "
        start += f"{row.code:>{self.code}}  " if self.code else ""
        for text, columns in ((row.files, self.files), (row.commands, self.commands)):
            start += f"{text:<{columns}}  " if columns else ""
        start += f"{row.tokens:>{self.tokens}}  " if self.tokens else ""
        prompt = row.prompt
        if self.room is not None:
            prompt = cut(prompt, self.room - cells(start))
        return f"{styled(start, dim=True)}{prompt}"


def _widest(texts: Iterable[str]) -> int:
    return max(map(cells, texts), default=0)
