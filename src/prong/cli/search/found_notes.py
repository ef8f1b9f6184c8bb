"""Notes about a search, printed to stderr."""

import sys
from collections.abc import Iterable, Mapping
from datetime import time
from typing import Any

import click

from prong.agents.stores import AgentStores
from prong.cli.output import is_terminal, note, styled
from prong.cli.progress import duration
from prong.cli.sessions.list import note_no_sessions
from prong.model.amounts import counted
from prong.model.search import IndexState, SearchRequest, SearchResult
from prong.session.service import SessionService
from prong.views.text import clean, short_path

_FALLBACKS = 5


def print_notes(
    result: SearchResult,
    sessions: SessionService,
    stores: AgentStores,
    *,
    numbered: bool,
    shown: int | None = None,
) -> None:
    """Print notes. `numbered`: hits can be named `%1`. `shown`: the number of hits printed."""
    for text in result.notes:
        note(text)
    if result.guidance is not None and result.engine is None:
        _print_guidance(result.guidance)
    for text in _story(result):
        note(text)
    if text := about_index(result.index):
        note(text)
    if not result.hits:
        _print_nothing(result, sessions, stores)
        return
    more = result.total - (len(result.hits) if shown is None else shown)
    if shown is not None and shown < len(result.hits):
        note(f"{more} more: --limit {len(result.hits)} shows the best {len(result.hits)}")
    elif more > 0:
        note(f"{more} more: --limit {result.total}")
    fork_at = next((rank for rank, hit in enumerate(result.hits, 1) if hit.can_fork), None)
    # In `prong find ... | less`, only the notes are on the screen.
    only_notes = is_terminal(sys.stderr) and not is_terminal(sys.stdout)
    if fork_at is not None and numbered and not only_notes:
        note(f"fork a hit: prong fork %{fork_at}")


def about_index(state: IndexState) -> str | None:
    """Explain why the newest turns may be missing."""
    if state.busy:
        return "another prong is updating the index: the newest turns may be missing"
    if state.behind:
        changed = counted(state.behind, "session")
        return f"{changed} not in the index yet; prong index reads what is missing"
    return None


def _story(result: SearchResult) -> Iterable[str]:
    """List failed attempts before an engine answered; `--json` lists them all."""
    if result.guidance is not None:
        if result.engine is not None:
            yield from _without_qmd(result)
        return
    for attempt in result.failures:
        outcome = "was skipped" if attempt.skipped else "failed"
        yield f"{attempt.engine} {attempt.mode} {outcome}: {attempt.error}"
    failed = {attempt.engine for attempt in result.failures}
    if result.engine is not None and failed - {result.engine}:
        yield f"{_spoken(result.engine)} answered"


def _without_qmd(result: SearchResult) -> Iterable[str]:
    """Explain why qmd was not used, and give the first setup step."""
    why = next((fail.error for fail in reversed(result.failures) if fail.engine == "qmd"), None)
    yield f"{why or 'qmd did not answer'}: {_spoken(result.engine or '')} answered"
    guidance: Mapping[str, Any] = result.guidance or {}
    steps: list[str] = list(guidance.get("next_steps", ()))
    if steps:
        yield f"to set up qmd, step 1 of {counted(len(steps), 'step')} (--json has all): {steps[0]}"


def _spoken(engine: str) -> str:
    return "the built-in index" if engine == "builtin" else engine


def _print_guidance(guidance: Mapping[str, Any]) -> None:
    note(str(guidance.get("message", "")))
    for number, step in enumerate(guidance.get("next_steps", ()), start=1):
        _item(f"{number}. {step}")
    recent: list[Mapping[str, Any]] = list(guidance.get("fallback_sessions", ()))
    if recent:
        note("the newest sessions instead:")
    for session in recent[:_FALLBACKS]:
        name = f"{session.get('agent', '')}:{session.get('session_id', '')}"
        _item(f"{name}  {short_path(str(session.get('project_path') or ''))}")


def _item(text: str) -> None:
    click.echo(styled(f"  {clean(text)}", dim=True), err=True)


def _print_nothing(result: SearchResult, sessions: SessionService, stores: AgentStores) -> None:
    if result.engine is None:
        return  # nothing was searched, and the reason is already printed
    state, query = result.index, result.query
    if not state.sessions and not sessions.all(query.agent):
        note_no_sessions(stores, query.agent)
        return
    filters = list(_filters(query))
    active = f" ({', '.join(filters)})" if filters else ""
    note(f"nothing found for {clean(query.text)!r}{active}")
    searched = f"searched {counted(state.sessions, 'session')} with {counted(state.turns, 'turn')}"
    as_of = f", as of {duration(state.age_s)} ago" if state.age_s is not None else ""
    note(f"{searched}{as_of}")
    names = dict.fromkeys(text.split()[0] for text in filters)
    fewer = f"without {' and '.join(names)}, or " if names else ""
    note(f"try: {fewer}other words; prong list shows the newest sessions")


def _filters(query: SearchRequest) -> Iterable[str]:
    if query.agent:
        yield f"--agent {clean(query.agent)}"
    if query.project:
        yield f"--project {short_path(str(query.project))}"
    if query.since:
        # In local time, as it can be typed.
        since = query.since.astimezone().replace(tzinfo=None)
        is_day = since.time() == time()
        yield f"--since {since:%Y-%m-%d}" if is_day else f"--since {since:%Y-%m-%dT%H:%M}"
    for name in query.files:
        yield f"--file {clean(name)}"
    if query.has_snapshot:
        yield "--has snapshot"
    if query.min_score is not None:
        yield f"--min-score {query.min_score:g}"
