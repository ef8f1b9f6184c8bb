"""MCP tools for search: smart_fork and find_sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from prong.mcp import names
from prong.mcp.call import Call
from prong.mcp.schemas import Arguments, shaped
from prong.mcp.shapes import (
    EngineAttempt,
    FoundSessions,
    SessionFacts,
    SessionMatch,
    SmartForkResult,
)
from prong.mcp.tool import Effect, tool

if TYPE_CHECKING:
    from prong.model.search import SearchRequest, SearchResult
    from prong.model.sessions import SessionRef

_LONGEST = 72
"""Maximum bytes of a prompt or title in a list. Bytes approximate tokens in any language."""
_SNIPPET = 140
"""Bytes around the first match; read_session returns the rest."""
_ALSO = 2
"""Maximum number of sessions listed that have a copy of the turn."""
_COMMIT = 12
"""Length of an abbreviated commit."""

Limit = Annotated[int, Meta(ge=1, le=50, description="Maximum number.")]
Score = Annotated[float, Meta(ge=0, le=1)]
MinScore = Annotated[Score | None, Meta(description="Minimum score.")]
Snippets = Annotated[bool, Meta(description="Include matching passages.")]
Number = Annotated[int, Meta(ge=1)]
ProjectPath = Annotated[
    str | None, Meta(description="Only sessions that ran in this folder or below.")
]
Agent = Annotated[str | None, Meta(description="Only this agent: claude or codex.")]
Since = Annotated[str | None, Meta(description="Only since: 3d, 12h, yesterday, 2026-11-01.")]
Engine = Annotated[
    Literal["auto", "builtin", "qmd"] | None,
    Meta(description="Search engine. builtin needs no installation."),
]
Collection = Annotated[str, Meta(description="qmd collection.", max_length=200)]
IncludeSelf = Annotated[bool, Meta(description="Include your own session.")]


class SmartFork(Arguments, frozen=True):
    intent: Annotated[str, Meta(description="What you want to do, in your own words.")]
    limit: Limit = 5
    project_path: ProjectPath = None
    collection: Collection = "claude-sessions"
    min_score: MinScore = None
    include_snippets: Snippets = True
    auto_fork: Annotated[bool, Meta(description="Fork the best result that can be forked.")] = False
    fork_index: Annotated[
        Number | None, Meta(description="Fork the result with this rank (from 1).")
    ] = None
    agent: Agent = None
    since: Since = None
    engine: Engine = None
    include_self: IncludeSelf = False
    prompt: Annotated[str | None, Meta(description="The fork's first prompt.")] = None
    name: Annotated[str | None, Meta(description="Name of the fork's worker.")] = None
    code: names.StartCode = None
    headless: Annotated[
        bool, Meta(description="Run the fork without a terminal pane; needs a prompt.")
    ] = False
    skip_permissions: names.SkipPermissions = False
    trust: Annotated[
        bool, Meta(description="Trust the fork's folder. Refused unless the user allowed it.")
    ] = False
    dry_run: Annotated[bool, Meta(description="Only show what the fork would do.")] = False


class FindSessions(Arguments, frozen=True):
    intent: Annotated[
        str | None,
        Meta(description="What they were about. Omit it to list the newest sessions."),
    ] = None
    limit: Limit = 10
    project_path: ProjectPath = None
    agent: Agent = None
    since: Since = None
    files: Annotated[
        tuple[str, ...], Meta(description="Only turns that touched all these files.", max_length=20)
    ] = ()
    has_snapshot: Annotated[bool, Meta(description="Only turns with captured code.")] = False
    min_score: MinScore = None
    include_snippets: Snippets = True
    engine: Engine = None
    collection: Collection = "claude-sessions"
    include_self: IncludeSelf = False


@tool(
    "Search past sessions and fork one",
    "Search past Claude Code and Codex sessions for what you want to do. Returns ranked turns. "
    "With fork_index or auto_fork, forks that session at that turn, with the code as of that "
    "turn, and runs the fork as a worker in a terminal pane. The past session is not changed. "
    "To fork a result of an earlier search, call fork_session with its ref.",
    Effect.WRITES,
    shown=True,
)
def smart_fork(call: Call, given: SmartFork) -> SmartForkResult:
    from prong.mcp import forking

    _check(given)
    result, own = forking.search(call, _request(given), include_self=given.include_self)
    answer = _answer(result, own, given)
    if given.auto_fork or given.fork_index is not None:
        answer |= _fork(call, given, result, answer["notes"])
    return shaped(SmartForkResult, answer)


def _check(given: SmartFork) -> None:
    from prong.errors import UsageError

    if given.auto_fork and given.fork_index is not None:
        raise UsageError("auto_fork and fork_index exclude each other", hint="leave auto_fork out")
    forks = given.auto_fork or given.fork_index is not None
    options = ("prompt", "name", "code", "headless", "skip_permissions", "trust", "dry_run")
    extra = [name for name in options if getattr(given, name)]
    if extra and not forks:
        raise UsageError(f"{extra[0]} needs a fork", hint="fork_index or auto_fork as well")


def _fork(call: Call, given: SmartFork, result: SearchResult, notes: list[str]) -> dict[str, Any]:
    from prong.api.requests import fork_request, worker_request
    from prong.mcp import forking

    fork = fork_request(code=given.code, skip_permissions=given.skip_permissions)
    worker = worker_request(
        given.name or None,
        prompt=names.prompt(given.prompt),
        headless=given.headless,
        trust=given.trust,
    )
    plan, reasons = forking.plan_hit(call, result, given.fork_index, fork, worker)
    notes = [*notes, *reasons]
    if given.dry_run:
        return {"plan": forking.planned_fork(plan), "notes": notes}
    _, session = forking.start(call, plan, worker)
    return {"forked_session": session, "notes": notes}


@tool(
    "Find past sessions",
    "Search past Claude Code and Codex sessions. Returns the best turn of each session; "
    "without an intent, the newest sessions.",
    Effect.READS,
)
def find_sessions(call: Call, given: FindSessions) -> FoundSessions:
    from prong.mcp import forking

    if given.intent is None:
        return _newest(call, given)
    result, own = forking.search(call, _request(given), include_self=given.include_self)
    return shaped(FoundSessions, _answer(result, own, given))


def _newest(call: Call, given: FindSessions) -> FoundSessions:
    from prong.errors import UsageError
    from prong.session.listing import SessionFilter
    from prong.views import json

    if given.files or given.has_snapshot:
        raise UsageError("files and has_snapshot narrow a search", hint="intent: what it was about")
    notes: list[str] = []
    folder, sessions = names.folder(given.project_path), call.app.sessions
    project = sessions.project(folder, notes) if folder else None
    filters = SessionFilter(given.agent, project, names.time(given.since), given.limit + 1)
    listing = sessions.list(filters)
    chosen = [item for item in listing.sessions if given.include_self or item.ref != call.own]
    return FoundSessions(
        query=None,
        sessions=tuple([session_facts(json.session(session)) for session in chosen[: given.limit]]),
        total=len(chosen) + listing.more,
        notes=tuple(notes),
        own_session=str(call.own) if call.own else None,
    )


def session_facts(view: dict[str, Any]) -> SessionFacts:
    return shaped(SessionFacts, {**view, "title": _cut(view["title"]) or ""})


def _request(given: SmartFork | FindSessions) -> SearchRequest:
    from prong.model.search import SearchRequest

    return SearchRequest(
        text=given.intent or "",
        agent=given.agent,
        project=names.folder(given.project_path),
        since=names.time(given.since),
        files=given.files if isinstance(given, FindSessions) else (),
        has_snapshot=given.has_snapshot if isinstance(given, FindSessions) else False,
        limit=given.limit,
        min_score=given.min_score,
        here=names.here(),
        by_session=True,
        engine=given.engine,
        collection=given.collection,
    )


def _answer(
    result: SearchResult, own: SessionRef | None, given: SmartFork | FindSessions
) -> dict[str, Any]:
    from prong.views import search as search_views

    view = search_views.result(result, snippets=given.include_snippets)
    guidance: dict[str, Any] = view["guidance"] or {}
    return {
        **view,
        "results": [_found(item) for item in view["hits"]],
        # Attempts matter only if one failed.
        "attempts": [shaped(EngineAttempt, item) for item in view["attempts"] if result.failures],
        "index_complete": view["index"]["complete"],
        "next_steps": guidance.get("next_steps", []),
        "own_session": str(own) if own else None,
    }


def _found(hit: dict[str, Any]) -> SessionMatch:
    return shaped(
        SessionMatch,
        {
            **hit,
            "title": _cut(hit["title"]),
            # A passage says more than the beginning of the prompt.
            "prompt": None if hit["snippet"] else _cut(hit["prompt"]),
            "snippet": _around(hit["snippet"], hit["marks"]),
            "also": hit["also"][:_ALSO],
            "date": f"{hit['date'][:16]}Z" if hit["date"] else None,
            # The turn number is enough.
            "turn_id": hit["turn_id"] if hit["turn"] is None else None,
            "snapshot": hit["snapshot"][:_COMMIT] if hit["snapshot"] else None,
            "working_directory": hit["cwd"],
            # If there is a session, `ref` reads it and the path adds nothing.
            "jsonl_path": None if hit["ref"] else hit["path"],
            "source_path": None if hit["ref"] else hit["source_path"] or hit["path"],
        },
    )


def _around(text: str | None, marks: list[list[int]]) -> str | None:
    """Cut a masked passage around its first mark."""
    if text is None or _fitting(text, _SNIPPET) == len(text):
        return text
    first = marks[0][0] if marks else 0
    start = first - _fitting(text[:first][::-1], _SNIPPET // 4)
    start = min(start, len(text) - _fitting(text[::-1], _SNIPPET))
    end = start + _fitting(text[start:], _SNIPPET)
    return f"{'... ' if start else ''}{text[start:end]}{' ...' if end < len(text) else ''}"


def _cut(text: str | None) -> str | None:
    """Cut a text after masking it: half a key would not be recognized."""
    if text is None:
        return None
    from prong.redaction.visible import safe

    text = safe(text)
    end = _fitting(text, _LONGEST)
    return text if end == len(text) else f"{text[:end]} ..."


def _fitting(text: str, room: int) -> int:
    """Count the leading characters that fit in so many bytes."""
    for count, character in enumerate(text):
        room -= len(character.encode(errors="replace"))
        if room < 0:
            return count
    return len(text)
