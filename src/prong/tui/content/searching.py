"""What the list of sessions shows: what was typed, looked up. Runs on threads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from prong.model.record import Record
from prong.model.search import IndexState, Query
from prong.model.sessions import SessionRef
from prong.model.times import moment
from prong.search import query as intent
from prong.search.passages import Highlighter, highlighter
from prong.sessions.lineage import family_of
from prong.sessions.listing import SessionFilter
from prong.tui.content import entries
from prong.tui.content.entries import FoundEntry, SessionEntry
from prong.views.text import short_refs

if TYPE_CHECKING:
    from prong.app import App

_FIRST, _MOST = 25, 50
"""Turns in a list: while somebody types, and a moment later."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Asked(Record, frozen=True):
    """What a person typed and chose."""

    text: str = ""
    agent: str | None = None
    project: Path | None = None
    since: str | None = None
    """As it is typed: `7d`."""
    has_snapshot: bool = False
    newest_first: bool = False
    here: Path | None = None
    """The folder that the person is in."""

    @property
    def is_narrowed(self) -> bool:
        return any((self.agent, self.project, self.since, self.has_snapshot))


class Looked(Record, frozen=True):
    """What there is to show."""

    asked: Asked
    entries: Sequence[FoundEntry | SessionEntry]
    text: str
    """What was looked for; empty where sessions are listed."""
    highlight: Highlighter
    sessions: int
    """How many there are in all."""
    turns: int = 0
    """How many fit, where not all are listed."""
    index: IndexState | None = None
    notes: tuple[str, ...] = ()
    is_narrowed: bool = False
    """Only some of the sessions are listed."""


def look_up(app: App, asked: Asked, *, fast: bool) -> Looked:
    """The turns that fit what was typed; where that is nothing, the sessions."""
    options = Query(
        text="",
        agent=asked.agent,
        project=asked.project,
        since=moment(asked.since) if asked.since else None,
        has_snapshot=asked.has_snapshot,
        limit=_FIRST if fast else _MOST,
        here=asked.here,
        fast=fast,
        live=True,
    )
    understood = intent.read(app, (asked.text,), options)
    query = understood.query
    if not query.text:
        return _listed(app, asked, query, understood.notes)
    result = app.find(query)
    hits = list(result.hits)
    if asked.newest_first:
        hits.sort(key=lambda hit: hit.date or _LONG_AGO, reverse=True)
    names = short_refs(result.refs, [hit.ref for hit in hits if hit.ref])
    return Looked(
        asked,
        entries.of_hits(hits, names),
        query.text,
        highlighter(query.text),
        len(result.refs),
        result.total,
        result.index,
        (*understood.notes, *result.notes),
    )


def _listed(app: App, asked: Asked, query: Query, notes: tuple[str, ...]) -> Looked:
    """Sessions, newest first."""
    listing = app.list_sessions(SessionFilter(None, query.project, query.since))
    sessions = tuple(one for one in listing.sessions if query.agent in (None, one.agent))
    if query.has_snapshot:
        capture = app.capture_in_use()
        kept = capture.sessions() if capture else set[SessionRef]()
        sessions = tuple(session for session in sessions if session.ref in kept)
    known = {(session.agent, session.id): session for session in sessions}
    family = {session.ref: SessionRef(*family_of(session, known)) for session in sessions}
    names = short_refs(listing.refs, [session.ref for session in sessions])
    failed = [f"{agent} cannot be listed: {why}" for agent, why in listing.failed.items()]
    return Looked(
        asked,
        entries.of_sessions(sessions, names, family),
        "",
        highlighter(""),
        listing.total,
        notes=(*notes, *failed),
        is_narrowed=any((query.agent, query.project, query.since, query.has_snapshot)),
    )
