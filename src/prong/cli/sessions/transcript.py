"""Terminal output of transcripts."""

import json

import click

from prong.cli.output import styled, width
from prong.model.sessions import Message, Session, Tool
from prong.views.text import cells, clean, cut, cut_left, short_path

_LINE = 160
_RULE = 80


class TranscriptPage:
    """Printer for a transcript: blank lines between parts, but not between tool calls."""

    def __init__(
        self, cwd: str | None, *, header: Session | None = None, full: bool = False
    ) -> None:
        """Show file names relative to `cwd`, and the session above its first message."""
        self._full = full
        self._header = header
        self._cwd = cwd
        self.is_empty = True
        self._turn: int | None = None
        self._after_tool = False

    def add(self, message: Message) -> None:
        if message.turn is not None and message.turn != self._turn:
            self._turn = message.turn
            self.rule(f"turn {message.turn}")
        text = clean(message.text, lines=True).strip()
        if message.tool is not None:
            # A call whose result is still missing has not failed.
            self._tool(message.tool, _outcome(message.tool) if message.role == "tool" else "")
        elif message.role == "thinking":
            if self._full and text:
                self._part(styled(text, dim=True, italic=True))
        elif message.role == "user":
            self._part(styled("> ", fg="green", bold=True) + styled(text, bold=True))
        elif message.role == "summary":
            self.rule("compacted: the conversation so far was replaced by")
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
        # Print the header with the first message: an unreadable file gets none.
        if self._header is not None:
            print_header(self._header)
            self._header = None

    def _part(self, text: str, *, tool: bool = False) -> None:
        self._begin()
        if not (tool and self._after_tool):
            click.echo()
        click.echo(text)
        self.is_empty = False
        self._after_tool = tool and not self._full

    def _tool(self, tool: Tool, outcome: str) -> None:
        name = clean(tool.name) or "tool"
        gist = tool.gist
        if self._cwd:
            gist = gist.removeprefix(f"{self._cwd}/")
        line = f"{name} {clean(gist)}".strip()
        line = cut(line, (width() or _LINE) - len(outcome) - 2)
        colour = "red" if tool.failed or tool.exit_code else "blue"
        lines = [f"{styled('* ', fg=colour)}{line}{styled(outcome, fg=colour)}"]
        if self._full:
            arguments = _pretty(tool.input) if tool.input else ""
            for part in (arguments, tool.output or ""):
                rows = clean(part, lines=True).rstrip().split("\n") if part.strip() else []
                lines += [styled("  │ ", dim=True) + row for row in rows]
        self._part("\n".join(lines), tool=True)


def _outcome(tool: Tool) -> str:
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


def print_header(session: Session) -> None:
    ref, title = clean(str(session.ref)), clean(session.title)
    rest = "  ".join(clean(part) for part in (session.branch, session.model) if part)
    path = short_path(session.cwd)
    room = width()
    if room is not None:
        title = cut(title, room - cells(ref) - 2)
        rest = cut(rest, room)
        path = cut_left(path, max(room - cells(rest) - 2, 0))
    click.echo("  ".join(part for part in (styled(ref, fg="cyan"), title) if part))
    if details := "  ".join(part for part in (path, rest) if part):
        click.echo(styled(details, dim=True))
