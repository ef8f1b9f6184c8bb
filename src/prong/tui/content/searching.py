"""Queries behind the session list. Run in threads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from prong.model.record import Record
from prong.model.search import IndexState, SearchRequest
from prong.model.sessions import SessionRef
from prong.model.times import moment
from prong.search.passages import Highlighter, highlighter
from prong.session.lineage import family_of
from prong.session.listing import SessionFilter
from prong.tui.content import entries
from prong.tui.content.entries import FoundEntry, SessionEntry
from prong.views.text import short_refs

if TYPE_CHECKING:
    from prong.app import App

_FIRST, _MOST = 25, 50
"""Maximum hits of the search while typing, and of the full search after it."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Asked(Record, frozen=True):
    """A query: the typed text and the chosen filters."""

    text: str = ""
    agent: str | None = None
    project: Path | None = None
    since: str | None = None
    """As typed, such as `7d`."""
    has_snapshot: bool = False
    newest_first: bool = False
    here: Path | None = None
    """The current folder of the user."""

    @property
    def is_narrowed(self) -> bool:
        return any((self.agent, self.project, self.since, self.has_snapshot))


class Looked(Record, frozen=True):
    """The result of a query."""

    asked: Asked
    entries: Sequence[FoundEntry | SessionEntry]
    text: str
    """Search text without filters; empty if sessions are listed."""
    highlight: Highlighter
    sessions: int
    """Total number of sessions."""
    turns: int = 0
    """Number of matching turns, listed or not."""
    index: IndexState | None = None
    notes: tuple[str, ...] = ()
    is_narrowed: bool = False
    """Whether only some sessions are listed."""


def look_up(app: App, asked: Asked, *, fast: bool) -> Looked:
    """Search turns, or list sessions if no text was typed."""
    options = SearchRequest(
        agent=asked.agent,
        project=asked.project,
        since=moment(asked.since) if asked.since else None,
        has_snapshot=asked.has_snapshot,
        limit=_FIRST if fast else _MOST,
        here=asked.here,
        fast=fast,
        live=True,
    )
    request = app.search.read((asked.text,), options)
    if not request.text:
        return _listed(app, asked, request)
    result = app.search.find(request)
    hits = list(result.hits)
    if asked.newest_first:
        hits.sort(key=lambda hit: hit.date or _LONG_AGO, reverse=True)
    names = short_refs(result.refs, [hit.ref for hit in hits if hit.ref])
    return Looked(
        asked,
        entries.of_hits(hits, names),
        request.text,
        highlighter(request.text),
        len(result.refs),
        result.total,
        result.index,
        result.notes,
    )


def _listed(app: App, asked: Asked, query: SearchRequest) -> Looked:
    """List sessions, newest first."""
    listing = app.sessions.list(SessionFilter(None, query.project, query.since))
    sessions = tuple(item for item in listing.sessions if query.agent in (None, item.agent))
    if query.has_snapshot:
        capture = app.code.capture_in_use()
        captured = capture.sessions() if capture else set[SessionRef]()
        sessions = tuple(session for session in sessions if session.ref in captured)
    by_id = {(session.agent, session.id): session for session in sessions}
    family = {session.ref: SessionRef(*family_of(session, by_id)) for session in sessions}
    names = short_refs(listing.refs, [session.ref for session in sessions])
    failed = [f"{agent} cannot be listed: {reason}" for agent, reason in listing.failed.items()]
    return Looked(
        asked,
        entries.of_sessions(sessions, names, family),
        "",
        highlighter(""),
        listing.total,
        notes=(*query.notes, *failed),
        is_narrowed=query.is_narrowed,
    )
