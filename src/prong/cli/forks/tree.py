"""`prong tree`: show which sessions were forked from which."""

import click

from prong.cli.arguments import SESSION, json_option
from prong.cli.output import note, open_app, patience, print_json, styled, width
from prong.views import json
from prong.views.lineage import rows_of
from prong.views.text import cells

_MARK = " *"
"""Marks the session given as argument."""


@click.command()
@click.argument("session", type=SESSION, metavar="[SESSION]", required=False)
@click.option("--all", "everything", is_flag=True, help="Include sessions without forks.")
@json_option
def tree(session: str | None, everything: bool, as_json: bool) -> None:
    """Show which sessions were forked from which."""
    app = open_app()
    with patience():
        chosen = app.sessions.get(session) if session else None
        forest = app.sessions.tree(chosen, everything=everything)
    if as_json:
        print_json(json.forest(forest))
        return
    room = width()
    for whole in rows_of(forest):
        mark = _MARK if chosen and chosen.ref == whole.node.ref else ""
        row = whole.fitted(room and room - cells(mark))
        start = f"{row.lead}{styled(row.at, dim=True)}{styled(row.name, fg='cyan')}"
        title = f"  {row.title}" if row.title else ""
        click.echo(f"{start}{title}{styled(row.rest, dim=True)}{styled(mark, fg='green')}")
    if not forest.roots:
        note("no forks yet; prong tree --all shows all sessions")
