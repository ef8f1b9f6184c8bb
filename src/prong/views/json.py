"""JSON views, stable for scripts. Fields are added, never renamed (docs/reference/json.md)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from prong.model.code import DiffStat, Snapshot
from prong.model.forks import Fork, ForkPlan, ForkPoint, Launch
from prong.model.sessions import Conversation, Message, Session, SessionRef, Skipped, Turn

if TYPE_CHECKING:  # types only, so that a command loads just the modules it uses
    from prong.code.diff import CodeDiff
    from prong.code.worktrees.status import WorktreeStatus
    from prong.session.lineage import Forest, LineageNode
    from prong.session.listing import Listing
    from prong.setup.demo import Demo

View = dict[str, Any]


def time(value: datetime | None) -> str | None:
    """Format a time as RFC 3339 in UTC, to the millisecond."""
    if value is None:
        return None
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def plain(value: Any) -> Any:
    """Convert a field to a JSON value."""
    match value:
        case datetime():
            return time(value)
        case Enum():
            return value.value
        case Path() | SessionRef() | ForkPoint():
            return str(value)
        case tuple():
            return [plain(item) for item in cast(tuple[Any, ...], value)]
        case Mapping():
            return dict(cast(Mapping[str, Any], value))
        case _:
            return value


def fields(value: object, *names: str) -> View:
    """Return the named fields as JSON values."""
    return {name: plain(getattr(value, name)) for name in names}


def session(value: Session) -> View:
    start = ("ref", "agent", "id", "title", "cwd", "cwds", "branch", "model", "entrypoint")
    return {
        **fields(value, *start, "started", "updated"),
        "turns": value.turn_count,
        "size": value.size,
        "path": value.file,
        **fields(value, "parent", "inherited", "archived", "headless"),
    }


def skipped(value: Skipped) -> View:
    return fields(value, "path", "reason", "offset")


def listing(value: Listing) -> View:
    return {
        "sessions": [session(item) for item in value.sessions],
        "skipped": [skipped(item) for item in (*value.skipped, *value.copies)],
        "total": value.total,
        "hidden": value.hidden,
        "more": value.more,
        "failed": dict(value.failed),
    }


def turn(value: Turn) -> View:
    start = ("index", "id", "kind", "prompt", "queued", "started", "ended", "state", "files")
    return {
        **fields(value, *start),
        "commands": [fields(item, "command", "exit_code") for item in value.commands],
        **fields(value, "tools", "tokens", "snapshot"),
        "diffstat": diffstat(value.changes),
        "since": _since(value),
        "late": value.late,
        "gaps": [fields(item, "kind", "reason", "path", "size") for item in value.gaps],
    }


def _since(value: Turn | CodeDiff) -> str | None:
    """Say what a turn's change is counted from: its prompt, or the previous turn."""
    if value.since_prompt is None:
        return None
    return "prompt" if value.since_prompt else "turn"


def diffstat(value: DiffStat | None) -> View | None:
    return fields(value, "files", "added", "removed") if value else None


def conversation(value: Conversation) -> View:
    return {
        "session": session(value.session),
        "turns": [turn(item) for item in value.turns],
        "abandoned": [turn(item) for item in value.abandoned],
        "compactions": list(value.compactions),
        "subagents": [fields(item, "id", "path", "kind", "call_id") for item in value.subagents],
        "skipped": [skipped(item) for item in value.skipped],
    }


def message(value: Message) -> View:
    tool = ("id", "name", "input", "gist", "output", "failed", "exit_code")
    return {
        **fields(value, "turn", "role", "text", "time"),
        "tool": fields(value.tool, *tool) if value.tool else None,
    }


def demo(value: Demo) -> View:
    return fields(value, "repository", "environment", "sessions")


def forest(value: Forest) -> View:
    return {"roots": [_node(root) for root in value.roots]}


def _node(value: LineageNode) -> View:
    return {
        "ref": str(value.ref),
        "turn": value.turn,
        "title": value.session.title if value.session else None,
        "updated": time(value.session.updated) if value.session else None,
        "missing": value.session is None,
        "children": [_node(child) for child in value.children],
    }


def launch(value: Launch) -> View:
    return {"command": list(value.argv), **fields(value, "cwd", "env")}


def plan(value: ForkPlan) -> View:
    return {
        "parent": str(value.point),
        "turn_id": value.point.turn_id,
        "child": f"{value.agent}:{value.new_id}" if value.new_id else None,
        **fields(value, "agent", "method", "code", "workspace"),
        "branch": value.worktree.branch if value.worktree else None,
        **fields(value, "title", "prompt", "before_compaction", "tokens", "window"),
        **launch(value.launch),
        "warnings": list(value.warnings),
    }


def snapshot(value: Snapshot) -> View:
    names = ("ref", "commit", "tree", "staged_tree", "head", "branch", "taken", "late", "changed")
    return {
        "session": f"{value.agent}:{value.session}",
        "turn": value.number,
        "turn_id": value.turn_id,
        "repository": str(value.repo),
        **fields(value, *names, "degraded"),
        "left_out": [fields(item, "path", "size", "reason") for item in value.left_out],
        "nested": [fields(item, "path", "commit") for item in value.nested],
    }


def diff(value: CodeDiff) -> View:
    names = ("path", "old_path", "status", "added", "removed")
    return {
        "from": str(value.old),
        "from_snapshot": value.old.snapshot.commit,
        "to": str(value.new),
        "to_snapshot": value.new.snapshot.commit,
        "files": [{**fields(file, *names), "binary": file.is_binary} for file in value.files],
        **fields(value.stat, "added", "removed"),
        "since": _since(value),
        "notes": list(value.notes),
    }


def worktree(value: WorktreeStatus) -> View:
    created = value.worktree
    return {
        "name": value.name,
        "path": str(created.path),
        "repository": str(created.repo),
        **fields(created, "branch", "base"),
        **fields(value, "session", "title", "parent", "state"),
        "created": time(created.created),
        "size": value.size,
        "dirty": value.work.would_be_lost,
        **fields(value.work, "files", "commits", "under_way"),
        **fields(value, "locked", "processes", "problem"),
    }


def fork(value: Fork) -> View:
    launched: View = {"command": [], "cwd": None, "env": {}}
    return {
        "id": value.id,
        "parent": str(value.parent),
        "turn_id": value.parent.turn_id,
        **fields(value, "child", "method", "code", "path", "workspace", "branch"),
        **fields(value, "tokens", "window", "created"),
        **(launch(value.launch) if value.launch else launched),
        "warnings": list(value.warnings),
    }
