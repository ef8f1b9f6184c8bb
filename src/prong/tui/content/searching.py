"""Queries behind the session list, which run in threads, and the texts about their results."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prong.code.service import CodeService
from prong.model.amounts import counted
from prong.model.record import Record
from prong.model.search import SearchRequest
from prong.model.sessions import SessionRef
from prong.model.times import moment
from prong.search.passages import Highlighter, highlighter
from prong.search.service import SearchService
from prong.session.lineage import family_of
from prong.session.listing import SessionFilter
from prong.session.service import SessionService
from prong.tui.content import entries
from prong.tui.content.entries import FoundEntry, SessionEntry
from prong.tui.widgets.lines import Line, line
from prong.views.text import short_refs

_FIRST, _MOST = 25, 50
"""Maximum hits of the search while typing, and of the full search after it."""
PLACEHOLDER = "Search sessions (filters: agent:codex project:shop since:7d file:limit.py)"
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
    notes: tuple[str, ...] = ()
    is_narrowed: bool = False
    """Whether only some sessions are listed."""


def look_up(
    search: SearchService, sessions: SessionService, code: CodeService, asked: Asked, *, fast: bool
) -> Looked:
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
    request = search.read((asked.text,), options)
    if not request.text:
        return _listed(sessions, code, asked, request)
    result = search.find(request)
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
        result.notes,
    )


def _listed(
    service: SessionService, code: CodeService, asked: Asked, query: SearchRequest
) -> Looked:
    """List sessions, newest first."""
    listing = service.list(SessionFilter(None, query.project, query.since))
    sessions = tuple(item for item in listing.sessions if query.agent in (None, item.agent))
    if query.has_snapshot:
        capture = code.capture_in_use()
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


def summary(found: Looked) -> str:
    """Summarize how many turns or sessions are listed."""
    count = len(found.entries)
    if found.text:
        turns = counted(count, "turn")
        if found.turns > count:
            turns = f"{count} of {counted(found.turns, 'turn')}"
        text = f"{turns} in {counted(found.sessions, 'session')}"
    elif found.is_narrowed:
        text = f"{count} of {counted(found.sessions, 'session')}"
    else:
        text = counted(count, "session")
    return " · ".join([text, *found.notes])


def progress(step: dict[str, Any]) -> str:
    """Describe the progress of indexing; empty when done."""
    match step["phase"]:
        case "sessions" if step["total"]:
            share = step["bytes_done"] / step["bytes_total"] if step["bytes_total"] else 0
            return f"indexing {step['done']:,} of {step['total']:,} sessions ({share:.0%})"
        case "meaning" if step["total"]:
            return f"embedding: {step['done']:,} of {step['total']:,}"
        case "busy":
            return "another prong is updating the index"
        case _:
            return ""


def empty(found: Looked, *, is_indexing: bool) -> list[Line]:
    """Advise what to do if nothing was found."""
    if found.sessions == 0:
        return [
            Line("No sessions yet.", "title"),
            Line(),
            Line("prong reads the sessions of Claude Code and Codex. Start claude or codex in a"),
            Line("project, send a prompt, and press ctrl+r to refresh."),
            Line(),
            line(("prong doctor", "name"), "  shows which folders are searched"),
            line(("prong demo", "name"), "    shows prong on sample sessions"),
        ]
    query = found.asked
    criterion = f"about “{found.text}”" if found.text else "that fits"
    lines = [
        Line(f"Nothing {criterion} in {counted(found.sessions, 'session')}.", "title"),
        Line(),
    ]
    if is_indexing:
        lines.append(Line("The index is being updated; try again in a moment."))
    if query.is_narrowed:
        filters = (
            query.agent,
            str(query.project or ""),
            f"the last {query.since}" if query.since else "",
            "turns with captured code" if query.has_snapshot else "",
        )
        narrowed = ", ".join(text for text in filters if text)
        lines.append(Line(f"Filters: {narrowed}. Press tab to change them."))
    if found.text:
        lines.append(Line("Try other words, or fewer."))
    return lines
