"""Header lines that name the shown session."""

from typing import TYPE_CHECKING

import click

from prong.cli.output import styled, width
from prong.views.text import cells, clean, cut, cut_left, short_path

if TYPE_CHECKING:
    from prong.model.sessions import Session


def print_header(session: "Session") -> None:
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
