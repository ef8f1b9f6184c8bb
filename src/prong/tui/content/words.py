"""Texts of the session list: counts, index progress, and advice if it is empty."""

from typing import TYPE_CHECKING, Any

from prong.model.amounts import counted
from prong.tui.widgets.lines import Line, line

if TYPE_CHECKING:
    from prong.tui.content.searching import Asked, Looked

SEARCH = "Search sessions (filters: agent:codex project:shop since:7d file:limit.py)"


def status(found: "Looked") -> str:
    """Summarize how many turns or sessions are listed."""
    count = len(found.entries)
    if found.text:
        turns = counted(count, "turn")
        if found.turns > count:
            turns = f"{count} of {counted(found.turns, 'turn')}"
        summary = f"{turns} in {counted(found.sessions, 'session')}"
    elif found.is_narrowed:
        summary = f"{count} of {counted(found.sessions, 'session')}"
    else:
        summary = counted(count, "session")
    return " · ".join([summary, *found.notes])


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


def empty(found: "Looked", *, is_indexing: bool) -> list[Line]:
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
        lines.append(Line(f"Filters: {_narrowed(query)}. Press tab to change them."))
    if found.text:
        lines.append(Line("Try other words, or fewer."))
    return lines


def _narrowed(asked: "Asked") -> str:
    parts = [
        asked.agent,
        str(asked.project) if asked.project else None,
        f"the last {asked.since}" if asked.since else None,
        "turns with captured code" if asked.has_snapshot else None,
    ]
    return ", ".join(part for part in parts if part)
