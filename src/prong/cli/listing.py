"""`prong list`."""

import os
import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from prong.cli.arguments import SinceArgument
from prong.cli.output import json_option, note, open_app, print_json, styled, width
from prong.cli.text import age, cells, clean, cut, cut_left, pad, short_ids

if TYPE_CHECKING:
    from prong.app import App
    from prong.app.sessions import Listing
    from prong.model import Session

_DEFAULT_LIMIT = 50
_WIDE = 100
_NARROW = 60


@click.command("list")
@click.option("-a", "--agent", metavar="NAME", help="Sessions of this agent only.")
@click.option(
    "-p",
    "--project",
    type=click.Path(),
    metavar="DIR",
    help="Sessions that were ever in this folder or below it.",
)
@click.option(
    "-s", "--since", type=SinceArgument(), help="Changed since: 3d, 12h, yesterday, 2026-11-01."
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=0),
    help=f"At most so many; {_DEFAULT_LIMIT} on a terminal.",
)
@click.option("--all", "everything", is_flag=True, help="Also archived and headless sessions.")
@json_option
def list_sessions(
    agent: str | None,
    project: str | None,
    since: datetime | None,
    limit: int | None,
    everything: bool,
    as_json: bool,
) -> None:
    """List sessions of all projects, newest first."""
    from pathlib import Path

    from prong.app import views
    from prong.app.sessions import SessionFilter
    from prong.errors import NotFound

    app = open_app()
    if agent is not None and agent not in app.stores:
        known = ", ".join(app.stores)
        raise NotFound(f"there is no agent {agent!r}", hint=f"agents: {known}")
    if limit is None and not as_json and sys.stdout.isatty():
        limit = _DEFAULT_LIMIT
    folder = Path(project).expanduser().absolute() if project else None
    listing = app.list_sessions(SessionFilter(agent, folder, since, limit, everything))
    if as_json:
        print_json(views.listing(listing))
        return
    if listing.sessions:
        print_sessions(list(listing.sessions))
    _notes(app, listing)


def _notes(app: "App", listing: "Listing") -> None:
    if not listing.total:
        note(f"no sessions under {', '.join(str(root) for root in app.roots())}")
        note(f"set {' or '.join(app.root_variables())}, or run: prong demo")
    elif not listing.sessions and not listing.hidden:
        note(f"none of {listing.total} sessions fits")
    if listing.more:
        note(f"{listing.more} more: prong list --limit {len(listing.sessions) + listing.more}")
    if listing.hidden:
        note(f"{listing.hidden} archived or headless ones are left out: prong list --all")
    unreadable = [one for one in listing.skipped if one.reason != "no conversation in it"]
    if unreadable:
        note(f"{len(unreadable)} files could not be used: prong doctor")


def print_sessions(sessions: "list[Session]") -> None:
    """A table that fits the terminal: what does not fit is left out from the right."""
    room = width()
    short = short_ids([session.id for session in sessions])
    refs = {session.ref: f"{session.agent}:{short[session.id]}" for session in sessions}
    ref_width = max(cells(ref) for ref in refs.values())
    for session in sessions:
        ref = refs[session.ref]
        when = age(session.updated)
        turns = str(session.turn_count)
        title = clean(session.title) or "(no prompt)"
        where = _short_path(session.cwd)
        mark = _mark(session)
        if room is not None and room < _NARROW:
            click.echo(f"{styled(ref, fg='cyan')}  {styled(when, dim=True)}")
            click.echo(f"  {cut(title, room - 2)}")
            continue
        start = f"{styled(pad(ref, ref_width), fg='cyan')}  {when:>10}  {turns:>4}  "
        used = ref_width + 2 + 10 + 2 + 4 + 2
        if room is None:
            click.echo(f"{start}{title}{mark}  {styled(where, dim=True)}")
            continue
        left = room - used
        if room < _WIDE:
            click.echo(f"{start}{cut(title, left - cells(mark))}{mark}")
            continue
        where = cut_left(where, min(32, left // 3))
        title_width = left - cells(where) - 2
        title = cut(title, title_width - cells(mark)) + mark
        click.echo(f"{start}{pad(title, title_width)}  {styled(where, dim=True)}")


def _mark(session: "Session") -> str:
    marks: list[str] = []
    if session.parent:
        marks.append("fork")
    if session.archived:
        marks.append("archived")
    if session.entrypoint not in (None, "cli"):
        marks.append(clean(session.entrypoint))
    return f" [{', '.join(marks)}]" if marks else ""


def _short_path(path: str | None) -> str:
    if not path:
        return ""
    home = os.environ.get("HOME", "")
    inside = bool(home) and f"{path}/".startswith(f"{home}/")
    return clean("~" + path[len(home) :] if inside else path)
