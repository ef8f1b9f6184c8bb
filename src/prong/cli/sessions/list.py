"""`prong list`: list sessions of all projects, newest first."""

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from prong.cli.arguments import filter_options, json_option, request
from prong.cli.output import is_terminal, note, open_app, patience, print_json, styled, width
from prong.model.amounts import counted
from prong.views.text import age, cells, clean, cut, cut_left, pad, short_path, short_refs

if TYPE_CHECKING:  # `prong list --help` needs neither
    from prong.agents.stores import AgentStores
    from prong.session.listing import Listing

_DEFAULT_LIMIT = 50
_WIDE = 100
_NARROW = 60
_LEAST_TITLE = 20
_AGE = 10
_FOLDER = 32


@click.command("list")
@filter_options(click.Path(file_okay=False))
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Maximum number of sessions (default on a terminal: {_DEFAULT_LIMIT}).",
)
@click.option("--all", "everything", is_flag=True, help="Include archived and headless sessions.")
@json_option
def list_(**given: Any) -> None:
    """List sessions of all projects, newest first."""
    from pathlib import Path

    from prong.session.listing import SessionFilter
    from prong.views import json

    app = open_app()
    if given["limit"] is None and not given["as_json"] and is_terminal(sys.stdout):
        given["limit"] = _DEFAULT_LIMIT
    project = Path(given["project"]) if given["project"] else None
    with patience():
        listing = app.sessions.list(request(SessionFilter, given, project=project))
    if given["as_json"]:
        print_json(json.listing(listing))
        return
    if listing.sessions:
        _print_sessions(listing)
    _print_notes(app.stores, listing, given["agent"])


def note_no_sessions(stores: "AgentStores", agent: str | None = None) -> None:
    """Say that there are no sessions: where prong looked, and what to do."""
    note(f"no sessions under {', '.join(str(root) for root in stores.roots(agent))}")
    variables = " or ".join(stores.root_variables(agent))
    note(f"set {variables}, or run: prong demo" if variables else "run: prong demo")


def _print_notes(stores: "AgentStores", listing: "Listing", agent: str | None) -> None:
    if not listing.total:
        note_no_sessions(stores, agent)
    elif not (listing.sessions or listing.hidden or listing.more):
        note(f"none of {counted(listing.total, 'session')} fits")
    if listing.more:
        note(f"{listing.more} more: prong list --limit {len(listing.sessions) + listing.more}")
    if listing.hidden:
        note(f"{listing.hidden} left out, archived or headless: prong list --all")
    if listing.copies:
        copies = counted(len(listing.copies), "older copy", "older copies")
        note(f"{copies} left out: prong doctor")
    if listing.unusable:
        note(f"{counted(len(listing.unusable), 'file')} could not be read: prong doctor")
    for name in listing.failed:
        note(f"the plug-in {name} failed: prong doctor")


def _print_sessions(listing: "Listing") -> None:
    """Print a table that fits the terminal; the columns on the right are cut first."""
    room = width()
    rows = _rows(listing)
    ref_width = max(cells(row.ref) for row in rows)
    turns_width = max(4, *(len(row.turns) for row in rows))
    widest_folder = max(cells(row.where) for row in rows)
    rest = 0 if room is None else room - ref_width - _AGE - turns_width - 6
    for row in rows:
        ref = styled(pad(row.ref, ref_width), fg="cyan")
        start = f"{ref}  {row.when:>{_AGE}}  {row.turns:>{turns_width}}  "
        if room is None:
            click.echo(f"{start}{row.title}{row.mark}  {styled(row.where, dim=True)}".rstrip())
        elif room < _NARROW or rest < _LEAST_TITLE:
            when = row.when if cells(row.ref) + 2 + cells(row.when) <= room else ""
            click.echo(f"{styled(row.ref, fg='cyan')}  {styled(when, dim=True)}".rstrip())
            click.echo(f"  {_titled(row, room - 2)}")
        elif room < _WIDE:
            click.echo(f"{start}{_titled(row, rest)}")
        else:
            folder = min(_FOLDER, rest // 3, widest_folder)
            title = pad(_titled(row, rest - folder - 2), rest - folder)
            path = styled(cut_left(row.where, folder), dim=True)
            click.echo(f"{start}{title}{path}" if path else f"{start}{title}".rstrip())


class _Row(NamedTuple):
    ref: str
    when: str
    turns: str
    title: str
    mark: str
    where: str


def _rows(listing: "Listing") -> list[_Row]:
    short = short_refs(listing.refs)
    titles = {session.ref: session.title for session in listing.sessions}
    rows: list[_Row] = []
    for session in listing.sessions:
        title = clean(session.title) or "(no prompt)"
        marks = ["archived"] if session.archived else []
        if session.entrypoint not in (None, "cli"):
            marks.append(clean(session.entrypoint))
        parent = session.parent
        if parent and session.title == titles.get(parent):
            # Without a title of its own, show first what distinguishes it from its parent.
            title = f"fork of {short[parent]}@{session.inherited}: {title}"
        elif parent:
            marks.insert(0, "fork")
        rows.append(
            _Row(
                ref=short[session.ref],
                when=age(session.updated),
                turns=str(session.turn_count),
                title=title,
                mark=f" [{', '.join(marks)}]" if marks else "",
                where=short_path(session.cwd),
            )
        )
    return rows


def _titled(row: "_Row", columns: int) -> str:
    """Return title and marks; drop the marks if they leave too little room for the title."""
    mark = row.mark if cells(row.mark) <= columns // 2 else ""
    return cut(row.title, columns - cells(mark)) + mark
