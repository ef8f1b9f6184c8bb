"""What the screens say: how far things are, and what to do where there is nothing to see."""

from typing import TYPE_CHECKING, Any

from prong.amounts import counted
from prong.tui.lines import Line, line

if TYPE_CHECKING:
    from prong.tui.searching import Asked, Looked

SEARCH = "what was it about?  agent:codex project:shop since:7d file:limit.py narrow it"


def status(found: "Looked") -> str:
    """What is in the list, of how much."""
    count = len(found.entries)
    if found.text:
        shown = counted(count, "turn")
        if found.turns > count:
            shown = f"{count} of {counted(found.turns, 'turn')}"
        told = f"{shown} in {counted(found.sessions, 'session')}"
    elif found.is_narrowed:
        told = f"{count} of {counted(found.sessions, 'session')}"
    else:
        told = counted(count, "session")
    return " · ".join([told, *found.notes])


def progress(step: dict[str, Any]) -> str:
    """How far the index is; nothing when it is done."""
    match step["phase"]:
        case "sessions" if step["total"]:
            share = step["bytes_done"] / step["bytes_total"] if step["bytes_total"] else 0
            return f"indexing {step['done']:,} of {step['total']:,} sessions ({share:.0%})"
        case "meaning" if step["total"]:
            return f"reading what they mean: {step['done']:,} of {step['total']:,}"
        case "busy":
            return "another prong is at work on the index"
        case _:
            return ""


def empty(found: "Looked", *, is_indexing: bool) -> list[Line]:
    """What to do where nothing was found."""
    if found.sessions == 0:
        return [
            Line("There are no sessions yet.", "title"),
            Line(),
            Line(
                "prong reads what Claude Code and Codex store. Start claude or codex in a project,"
            ),
            Line("ask it something, and it is here; ctrl+r looks again."),
            Line(),
            line(("prong doctor", "name"), "  tells which folders are looked at"),
            line(("prong demo", "name"), "    shows prong at work on samples"),
        ]
    asked = found.asked
    what = f"about “{found.text}”" if found.text else "that fits"
    lines = [
        Line(f"Nothing {what} in {counted(found.sessions, 'session')}.", "title"),
        Line(),
    ]
    if is_indexing:
        lines.append(Line("The index is being brought up to date; look again in a moment."))
    if asked.is_narrowed:
        lines.append(
            Line(f"The search is narrowed to {_narrowed(asked)}: tab goes to the filters.")
        )
    if found.text:
        lines.append(Line("Other words, or fewer, may find more. What it was about is enough."))
    return lines


def _narrowed(asked: "Asked") -> str:
    parts = [
        asked.agent,
        str(asked.project) if asked.project else None,
        f"the last {asked.since}" if asked.since else None,
        "turns whose code was kept" if asked.has_snapshot else None,
    ]
    return ", ".join(part for part in parts if part)
