"""JSON views of searches, stable for scripts (docs/reference/json.md)."""

from prong.model.search import Attempt, Hit, IndexState, SearchRequest, SearchResult
from prong.model.sessions import SessionRef, Turn
from prong.views import json
from prong.views.json import View


def result(value: SearchResult, *, snippets: bool = True) -> View:
    """Convert a search result. Without `snippets`, hits contain no text but their prompts."""
    failures = value.failures
    qmd = [x.error for x in failures if x.engine == "qmd"]
    return {
        "query": value.query.text,
        "filters": _filters(value.query),
        "engine": value.engine,
        "fallback_used": bool(value.engine and failures),
        "qmd_error": qmd[0] if qmd else None,
        "attempts": [attempt(x) for x in value.attempts],
        "index": _searched(value.index),
        "hits": [hit(x, rank, snippet=snippets) for rank, x in enumerate(value.hits, start=1)],
        "total": value.total,
        "guidance": dict(value.guidance) if value.guidance is not None else None,
        "notes": list(value.notes),
    }


def _filters(value: SearchRequest) -> View:
    names = ("agent", "project", "since", "files", "has_snapshot", "limit", "min_score")
    return {**json.fields(value, *names), "sessions": value.by_session}


def _searched(value: IndexState) -> View:
    """Select what describes the search; the index size takes longer to compute than the search."""
    state = index(value)
    return {name: state[name] for name in state if name not in ("size", "vectors", "unread")}


def attempt(value: Attempt) -> View:
    view = json.fields(value, "engine", "mode", "command", "error", "skipped", "seconds", "hits")
    return {**view, "seconds": round(value.seconds, 3)}


def index(value: IndexState) -> View:
    names = ("sessions", "turns", "age_s", "complete", "behind", "size", "vectors", "unread")
    view = json.fields(value, *names, "busy", "kept")
    return {**view, "age_s": round(value.age_s, 1) if value.age_s is not None else None}


def hit(value: Hit, rank: int, *, snippet: bool = True) -> View:
    session, turn, ref = value.session, value.turn, value.ref
    return {
        "rank": rank,
        "ref": place(ref, turn),
        "session": str(ref) if ref else None,
        "agent": ref.agent if ref else None,
        "session_id": ref.id if ref else None,
        "title": session.title if session else None,
        "turn": turn.index if turn else None,
        "turn_id": turn.id if turn else None,
        "score": round(value.score, 4),
        "engine": value.engine,
        "snippet": value.passage.text if snippet else None,
        "marks": [list(mark) for mark in value.passage.marks] if snippet else [],
        "prompt": turn.prompt if turn else None,
        "cwd": value.cwd,
        "date": json.time(value.date),
        "path": session.file if session else None,
        "source_path": value.source,
        "also": [str(copy) if at is None else f"{copy}@{at}" for copy, at in value.also],
        "more": value.more,
        "snapshot": turn.snapshot if turn else None,
        "diffstat": json.diffstat(turn.changes) if turn else None,
        "can_fork": value.can_fork,
        "warning": value.warning,
    }


def place(ref: SessionRef | None, turn: Turn | None) -> str | None:
    """Format a reference to type: `claude:<id>@<turn>`, or `@<turn id>` for an abandoned turn."""
    if ref is None or turn is None:
        return str(ref) if ref else None
    return f"{ref}@{turn.index if turn.index is not None else turn.id}"
