"""Preview of a change to a user's file."""

from typing import TYPE_CHECKING

import click

from prong.cli.output import styled
from prong.views.text import clean

if TYPE_CHECKING:
    from prong.files.edits import Edit

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def print_edit(edit: "Edit", *, err: bool = False) -> None:
    for line in edit.diff().split("\n"):
        click.echo(styled(clean(line, lines=True), fg=_COLOURS.get(line[:1])), err=err)
