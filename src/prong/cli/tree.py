"""`prong tree`."""

from typing import TYPE_CHECKING, NamedTuple

import click

from prong.cli.arguments import SessionArgument
from prong.cli.output import json_option, note, open_app, patience, print_json, styled, width
from prong.cli.text import age, cells, clean, counted, cut, short_refs

if TYPE_CHECKING:
    from prong.app.lineage import Node
    from prong.model import SessionRef


@click.command()
@click.argument("session", type=SessionArgument(), metavar="[SESSION]", required=False)
@click.option("--all", "everything", is_flag=True, help="Also sessions that were never forked.")
@json_option
def tree(session: str | None, everything: bool, as_json: bool) -> None:
    """Show which session was forked from which, and at which turn."""
    from prong.app import views

    app = open_app()
    with patience():
        chosen = app.session(session) if session else None
        forest = app.tree(chosen, everything=everything)
    if as_json:
        print_json(views.forest(forest))
        return
    short = short_refs(forest.refs)
    for root in forest.roots:
        _print_node(root, short, _Place(chosen=chosen.ref if chosen else None))
    if not forest.roots:
        note("no session was ever forked; prong tree --all shows them all")


class _Place(NamedTuple):
    """Where in the drawing a node stands."""

    lead: str = ""
    """What is drawn before it."""
    below: str = ""
    """What is drawn before the lines below it."""
    title: str | None = None
    """The title of its parent."""
    chosen: "SessionRef | None" = None

    def child(self, title: str, *, last: bool) -> "_Place":
        lead, below = ("└─ ", "   ") if last else ("├─ ", "│  ")
        return _Place(self.below + lead, self.below + below, title, self.chosen)


def _print_node(node: "Node", short: "dict[SessionRef, str]", place: _Place) -> None:
    ref = short[node.ref]
    at = f"@{node.turn} " if node.turn is not None else ""
    mark = " *" if place.chosen == node.ref else ""
    title, rest = _described(node, place.title)
    room = width()
    if room is not None:
        left = room - cells(place.lead) - cells(at) - cells(ref) - cells(mark)
        rest = rest if cells(rest) <= left else ""
        title = cut(title, max(left - cells(rest) - 2, 0))
    start = f"{place.lead}{styled(at, dim=True)}{styled(ref, fg='cyan')}"
    name = f"  {title}" if title else ""
    click.echo(f"{start}{name}{styled(rest, dim=True)}{styled(mark, fg='green')}")
    for child in node.children:
        last = child is node.children[-1]
        own = node.session.title if node.session else ""
        _print_node(child, short, place.child(own, last=last))


def _described(node: "Node", parent_title: str | None) -> tuple[str, str]:
    """The title, and what stands behind it."""
    session = node.session
    if session is None:
        return "(deleted)", ""
    rest = f"  {age(session.updated)}"
    if node.turn is not None and session.parent is not None:
        own = max(session.turn_count - session.inherited, 0)
        rest = f"  +{counted(own, 'turn')}{rest}"
    # A fork without a title of its own would repeat what stands above it.
    return ("" if session.title == parent_title else clean(session.title)), rest
