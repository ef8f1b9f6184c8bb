"""`prong show`."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import click

from prong.cli.arguments import session_argument
from prong.cli.output import json_option, note, open_app, print_json, styled, width
from prong.cli.text import clean, cut

if TYPE_CHECKING:
    from prong.model import Message, Tool

_TELLING = ("command", "cmd", "file_path", "notebook_path", "path", "pattern", "query", "url")
"""The argument of a tool that says most about the call, the first that it has."""
_LINE = 160


@click.command()
@session_argument
@click.option("--full", is_flag=True, help="Tool inputs and outputs in full, and the thinking.")
@click.option("--raw", is_flag=True, help="The lines as the agent wrote them.")
@click.option(
    "--context", is_flag=True, help="What the agent would send to the model if it were resumed."
)
@json_option
def show(session: str, full: bool, raw: bool, context: bool, as_json: bool) -> None:
    """Show the transcript of a session, or of one turn."""
    from prong.app import views
    from prong.errors import UsageError
    from prong.model import View

    if sum((raw, context, as_json and raw)) > 1:
        raise UsageError("--raw goes with neither --context nor --json")
    app = open_app()
    found = app.find(session)
    turn = None
    if found.turn is not None:
        turn = app.turn(app.conversation(found.session), found.turn)
        if turn is None:
            raise UsageError("turn 0 is before the first prompt: there is nothing to show")
    if context and turn is not None:
        raise UsageError("--context is of a whole session, not of one turn")
    if raw:
        _print_raw(app.raw(found.session, turn=turn))
        return
    view = View.CONTEXT if context else View.HISTORY
    messages = app.messages(found.session, view=view, turn=turn)
    if as_json:
        shown = [views.message(message) for message in messages]
        print_json({"session": views.session(found.session), "messages": shown})
        return
    _print_messages(messages, full=full)


def _print_raw(lines: Iterable[bytes]) -> None:
    for line in lines:
        click.echo(line)


def _print_messages(messages: Iterable["Message"], *, full: bool) -> None:
    from prong.app.transcript import paired

    shown_turn: int | None = None
    empty = True
    for message in paired(messages):
        empty = False
        if message.turn is not None and message.turn != shown_turn:
            shown_turn = message.turn
            rule = f"── turn {shown_turn} "
            click.echo(styled(rule + "─" * max((width() or 80) - len(rule), 0), dim=True))
        _print_message(message, full=full)
    if empty:
        note("nothing was said")


def _print_message(message: "Message", *, full: bool) -> None:
    text = clean(message.text, lines=True).strip()
    match message.role:
        case "user":
            click.echo(styled("> ", fg="green", bold=True) + styled(text, bold=True) + "\n")
        case "assistant" | "tool" if message.tool is not None:
            _print_tool(message.tool, full=full)
        case "thinking":
            if full and text:
                click.echo(styled(text, dim=True, italic=True) + "\n")
        case "summary":
            click.echo(styled("── compacted: what came before was replaced by", dim=True))
            click.echo(text + "\n")
        case _:
            if text:
                click.echo(text + "\n")


def _print_tool(tool: "Tool", *, full: bool) -> None:
    name = clean(tool.name) or "tool"
    line = f"{name} {clean(_gist(tool.input))}".strip()
    outcome = _outcome(tool)
    line = cut(line, (width() or _LINE) - len(outcome) - 4)
    colour = "red" if tool.failed or tool.exit_code else "blue"
    click.echo(f"{styled('* ', fg=colour)}{line}{styled(outcome, fg=colour)}")
    if not full:
        return
    for part in (_pretty(tool.input), tool.output or ""):
        for row in clean(part, lines=True).splitlines():
            click.echo(styled("  │ ", dim=True) + row)
    click.echo()


def _outcome(tool: "Tool") -> str:
    if tool.exit_code is not None:
        return f"  exit {tool.exit_code}"
    if tool.output is None:
        return "  no result"
    return "  failed" if tool.failed else ""


def _gist(given: str) -> str:
    try:
        value: Any = json.loads(given)
    except ValueError:
        return given
    if not isinstance(value, dict):
        return given
    fields = cast(dict[str, Any], value)
    for key in _TELLING:
        if fields.get(key):
            telling = fields[key]
            return telling if isinstance(telling, str) else json.dumps(telling)
    return given if fields else ""


def _pretty(given: str) -> str:
    try:
        return json.dumps(json.loads(given), indent=2, ensure_ascii=False)
    except ValueError:
        return given
