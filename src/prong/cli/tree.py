"""`prong tree`."""

from typing import TYPE_CHECKING

import click

from prong.cli.arguments import SessionArgument
from prong.cli.output import json_option, note, open_app, print_json, styled, width
from prong.cli.text import age, cells, clean, cut, short_ids

if TYPE_CHECKING:
    from prong.app.lineage import Node


@click.command()
@click.argument("session", type=SessionArgument(), metavar="[SESSION]", required=False)
@click.option("--all", "everything", is_flag=True, help="Also sessions that were never forked.")
@json_option
def tree(session: str | None, everything: bool, as_json: bool) -> None:
    """Show which session was forked from which, and at which turn."""
    from prong.app import views

    app = open_app()
    chosen = app.session(session) if session else None
    forest = app.tree(chosen, everything=everything)
    if as_json:
        print_json(views.forest(forest))
        return
    ids: list[str] = []
    for root in forest.roots:
        _collect(root, ids)
    short = short_ids(ids)
    for root in forest.roots:
        _print_node(root, short, "", "", chosen and str(chosen.ref))
    if not forest.roots:
        note("no session was ever forked; prong tree --all shows them all")


def _collect(node: "Node", ids: list[str]) -> None:
    ids.append(node.ref.id)
    for child in node.children:
        _collect(child, ids)


def _print_node(
    node: "Node", short: dict[str, str], lead: str, below: str, chosen: str | None
) -> None:
    ref = f"{node.ref.agent}:{short[node.ref.id]}"
    at = f"@{node.turn} " if node.turn is not None else ""
    if node.session is None:
        what = "(deleted)"
    else:
        what = f"{clean(node.session.title)}  {age(node.session.updated)}"
    room = width()
    if room is not None:
        what = cut(what, room - cells(lead) - cells(at) - cells(ref) - 4)
    mark = styled(" *", fg="green") if chosen == str(node.ref) else ""
    click.echo(f"{lead}{styled(at, dim=True)}{styled(ref, fg='cyan')}  {what}{mark}")
    for position, child in enumerate(node.children):
        last = position == len(node.children) - 1
        _print_node(
            child,
            short,
            below + ("└─ " if last else "├─ "),
            below + ("   " if last else "│  "),
            chosen,
        )
