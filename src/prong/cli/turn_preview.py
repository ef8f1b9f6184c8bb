"""A turn at a glance: its prompt, what it did to the code, and how the agent answered."""

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from prong.cli.diff import stat_lines
from prong.cli.output import styled, width
from prong.cli.text import clean, cut
from prong.cli.wrapping import wrapped
from prong.errors import ProngError

if TYPE_CHECKING:
    from prong.app import App
    from prong.app.diffing import CodeDiff
    from prong.model import Conversation, Turn


_PIPE_WIDTH = 80


class Preview(NamedTuple):
    prompt: str
    answer: str
    code: "CodeDiff | None"
    lack: str
    """Why nothing is known of the code."""

    def lines(self, columns: int, height: int) -> list[str]:
        """What fits; the answer gets what the others leave."""
        prompt = [styled(line, bold=True) for line in wrapped(self.prompt, columns)]
        code = self._code(columns)
        shown = [*_head(prompt, max(height // 4, 2)), "", *_stat(code, max(height // 3, 3)), ""]
        return [*shown, *_head(wrapped(self.answer, columns), height - len(shown))][:height]

    def _code(self, columns: int) -> list[str]:
        if self.code is None:
            return [styled(cut(self.lack, columns), dim=True)]
        return list(stat_lines(self.code.files, columns)) or [styled("no code changed", dim=True)]


def read(app: "App", conversation: "Conversation", turn: "Turn") -> Preview:
    """All that there is to see of a turn; a part that cannot be had is said to be missing."""
    code, lack = None, ""
    try:
        code = app.change_of(conversation, turn)
    except ProngError as error:
        known = app.snapshots(conversation)
        lack = error.message if turn.id in known else "no code captured"
    prompt = clean(turn.prompt, lines=True).strip()
    return Preview(prompt, _answer(app, conversation, turn), code, clean(lack))


def show(preview: Preview) -> None:
    """Print it: in the window that fzf has for it, or wherever the output goes."""
    columns, lines = (os.environ.get(f"FZF_PREVIEW_{name}", "") for name in ("COLUMNS", "LINES"))
    in_fzf = columns.isdecimal() and lines.isdecimal()
    size = (int(columns), int(lines)) if in_fzf else (width() or _PIPE_WIDTH, sys.maxsize)
    for line in preview.lines(*size):
        click.echo(line, color=in_fzf or None)


def _answer(app: "App", conversation: "Conversation", turn: "Turn") -> str:
    """The last that the agent said."""
    answer = ""
    try:
        for message in app.messages(conversation.session, turn=turn):
            if message.role == "assistant" and message.text.strip():
                answer = message.text
    except (ProngError, OSError) as error:
        return clean(str(error))
    return clean(answer, lines=True).strip()


def _head(lines: list[str], height: int) -> list[str]:
    if len(lines) <= height:
        return lines
    return [*lines[: max(height - 1, 0)], styled("…", dim=True)][: max(height, 0)]


def _stat(lines: list[str], height: int) -> list[str]:
    """Some files, and the last line, which is about all of them."""
    return lines if len(lines) <= height else [*lines[: height - 2], " …", lines[-1]]
