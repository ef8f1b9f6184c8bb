"""`prong show`."""

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from prong.cli.arguments import session_argument
from prong.cli.header import print_header
from prong.cli.output import json_option, note, open_app, patience, print_json, styled, width
from prong.cli.text import cells, clean, cut, escaped

if TYPE_CHECKING:
    from prong.model import Message, Session, Tool

_LINE = 160
_RULE = 80


@click.command()
@session_argument
@click.option("--full", is_flag=True, help="Tool inputs and outputs in full, and the thinking.")
@click.option("--raw", is_flag=True, help="The lines as the agent wrote them.")
@click.option(
    "--context", is_flag=True, help="What the agent would send to the model if it were resumed."
)
@json_option
def show(session: str, full: bool, raw: bool, context: bool, as_json: bool) -> None:
    """Show the transcript of a session, or of one turn.

    `>` stands before a prompt, `*` before a tool.
    """
    from prong.app import views
    from prong.app.transcript import paired
    from prong.errors import UsageError
    from prong.model import View

    if raw and (full or context or as_json):
        raise UsageError("--raw goes with no other option", hint="prong show SESSION --raw")
    app = open_app()
    with patience():
        found = app.resolve(session)
        conversation = app.conversation(found.session) if found.turn is not None else None
    turn = None
    if conversation is not None:
        turn = app.turn(conversation, found.turn or "")
        if turn is None:
            raise UsageError(
                "turn 0 is before the first prompt: there is nothing to show",
                hint=f"prong turns {found.session.ref}",
            )
    if context and turn is not None:
        raise UsageError(
            "--context is of a whole session, not of one turn",
            hint=f"prong show {found.session.ref} --context",
        )
    if raw:
        _print_raw(app.raw(found.session, turn=turn))
        return
    view = View.CONTEXT if context else View.HISTORY
    messages = paired(app.messages(found.session, view=view, turn=turn))
    if as_json:
        shown = [views.message(message) for message in messages]
        print_json({"session": views.session(found.session), "messages": shown})
        return
    page = _Page(found.session, full=full)
    if turn is not None and turn.index is None:
        page.rule(f"turn {clean(turn.id)}, left behind by a rewind")
    for message in messages:
        page.add(message)
    if page.is_empty:
        note("nothing was said")


def _print_raw(lines: Iterable[bytes]) -> None:
    on_terminal = sys.stdout.isatty()
    for line in lines:
        # Bytes are bytes, but a terminal would obey some of them.
        click.echo(escaped(line.decode("utf-8", "replace")) if on_terminal else line)


class _Page:
    """A transcript on its way out: one empty line between the parts, tools close together."""

    def __init__(self, session: "Session", *, full: bool) -> None:
        self.session = session
        self.full = full
        self.is_empty = True
        self._begun = False
        self._turn: int | None = None
        self._after_tool = False

    def add(self, message: "Message") -> None:
        if message.turn is not None and message.turn != self._turn:
            self._turn = message.turn
            self.rule(f"turn {message.turn}")
        text = clean(message.text, lines=True).strip()
        if message.tool is not None:
            self._tool(message.tool)
        elif message.role == "thinking":
            if self.full and text:
                self._part(styled(text, dim=True, italic=True))
        elif message.role == "user":
            self._part(styled("> ", fg="green", bold=True) + styled(text, bold=True))
        elif message.role == "summary":
            self.rule("compacted: what came before was replaced by")
            self._part(text)
        elif text:
            self._part(text)

    def rule(self, text: str) -> None:
        line = f"── {text} "
        line += "─" * max((width() or _RULE) - cells(line), 0)
        self._begin()
        click.echo(f"\n{styled(line, dim=True)}")
        self._after_tool = False

    def _begin(self) -> None:
        # Not before there is something to show: a file that cannot be read gets no header.
        if not self._begun:
            self._begun = True
            print_header(self.session)

    def _part(self, text: str, *, tool: bool = False) -> None:
        self._begin()
        if not (tool and self._after_tool):
            click.echo()
        click.echo(text)
        self.is_empty = False
        self._after_tool = tool and not self.full

    def _tool(self, tool: "Tool") -> None:
        name = clean(tool.name) or "tool"
        outcome = _outcome(tool)
        gist = tool.gist
        if self.session.cwd:
            gist = gist.removeprefix(f"{self.session.cwd}/")
        line = f"{name} {clean(gist)}".strip()
        line = cut(line, (width() or _LINE) - len(outcome) - 2)
        colour = "red" if tool.failed or tool.exit_code else "blue"
        lines = [f"{styled('* ', fg=colour)}{line}{styled(outcome, fg=colour)}"]
        if self.full:
            given = _pretty(tool.input) if tool.input else ""
            for part in (given, tool.output or ""):
                rows = clean(part, lines=True).rstrip().split("\n") if part.strip() else []
                lines += [styled("  │ ", dim=True) + row for row in rows]
        self._part("\n".join(lines), tool=True)


def _outcome(tool: "Tool") -> str:
    if tool.exit_code is not None:
        return f"  exit {tool.exit_code}"
    if tool.output is None:
        return "  no result"
    return "  failed" if tool.failed else ""


def _pretty(given: str) -> str:
    try:
        return json.dumps(json.loads(given), indent=2, ensure_ascii=False)
    except ValueError:
        return given
