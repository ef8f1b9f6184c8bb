"""Preview of a turn, fitted to the available lines."""

import os
import sys

import click

from prong.cli.output import styled, width
from prong.cli.sessions.diff import stat_lines
from prong.views.text import cut, wrapped
from prong.views.turn_preview import TurnPreview

_PIPE_WIDTH = 80


def lines(preview: TurnPreview, columns: int, height: int) -> list[str]:
    """Return the lines that fit; the answer gets the lines that prompt and code leave."""
    prompt = [styled(line, bold=True) for line in wrapped(preview.prompt, columns)]
    if preview.code is None:
        code = [styled(cut(preview.lack, columns), dim=True)]
    else:
        code = list(stat_lines(preview.code.files, columns))
    code = code or [styled("no code changes", dim=True)]
    above = [*_head(prompt, max(height // 4, 2)), "", *_stat(code, max(height // 3, 3)), ""]
    return [*above, *_head(wrapped(preview.answer, columns), height - len(above))][:height]


def show(preview: TurnPreview) -> None:
    """Print a preview, in fzf's preview window or on stdout."""
    columns, height = (os.environ.get(f"FZF_PREVIEW_{name}", "") for name in ("COLUMNS", "LINES"))
    in_fzf = columns.isdecimal() and height.isdecimal()
    size = (int(columns), int(height)) if in_fzf else (width() or _PIPE_WIDTH, sys.maxsize)
    for line in lines(preview, *size):
        click.echo(line, color=in_fzf or None)


def _head(lines: list[str], height: int) -> list[str]:
    if len(lines) <= height:
        return lines
    return [*lines[: max(height - 1, 0)], styled("…", dim=True)][: max(height, 0)]


def _stat(lines: list[str], height: int) -> list[str]:
    """Cut a diffstat but keep its last line, the total."""
    return lines if len(lines) <= height else [*lines[: height - 2], " …", lines[-1]]
