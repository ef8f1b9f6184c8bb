"""JSON views, stable for scripts. Fields are added, never renamed (docs/reference/json.md)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from prong.model.code import DiffStat, Snapshot
from prong.model.forks import Fork, ForkPlan, Launch
from prong.model.sessions import Conversation, Message, Session, Skipped, Turn

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


def session(value: Session) -> View:
    return {
        "ref": str(value.ref),
        "agent": value.agent,
        "id": value.id,
        "title": value.title,
        "cwd": value.cwd,
        "cwds": list(value.cwds),
        "branch": value.branch,
        "model": value.model,
        "entrypoint": value.entrypoint,
        "started": time(value.started),
        "updated": time(value.updated),
        "turns": value.turn_count,
        "size": value.size,
        "path": value.file,
        "parent": str(value.parent) if value.parent else None,
        "inherited": value.inherited,
        "archived": value.archived,
        "headless": value.headless,
    }


def skipped(value: Skipped) -> View:
    return {"path": str(value.path), "reason": value.reason, "offset": value.offset}


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
    return {
        "index": value.index,
        "id": value.id,
        "kind": value.kind.value,
        "prompt": value.prompt,
        "queued": list(value.queued),
        "started": time(value.started),
        "ended": time(value.ended),
        "state": value.state.value,
        "files": list(value.files),
        "commands": [
            {"command": command.command, "exit_code": command.exit_code}
            for command in value.commands
        ],
        "tools": dict(value.tools),
        "tokens": value.tokens,
        "snapshot": value.snapshot,
        "diffstat": diffstat(value.changes),
        "since": _since(value),
        "late": value.late,
        "gaps": [
            {"kind": gap.kind.value, "reason": gap.reason, "path": gap.path, "size": gap.size}
            for gap in value.gaps
        ],
    }


def _since(value: Turn | CodeDiff) -> str | None:
    """Say what a turn's change is counted from: its prompt, or the previous turn."""
    if value.since_prompt is None:
        return None
    return "prompt" if value.since_prompt else "turn"


def diffstat(value: DiffStat | None) -> View | None:
    if value is None:
        return None
    return {"files": value.files, "added": value.added, "removed": value.removed}


def conversation(value: Conversation) -> View:
    return {
        "session": session(value.session),
        "turns": [turn(item) for item in value.turns],
        "abandoned": [turn(item) for item in value.abandoned],
        "compactions": list(value.compactions),
        "subagents": [
            {"id": item.id, "path": str(item.path), "kind": item.kind, "call_id": item.call_id}
            for item in value.subagents
        ],
        "skipped": [skipped(item) for item in value.skipped],
    }


def message(value: Message) -> View:
    tool = value.tool
    return {
        "turn": value.turn,
        "role": value.role,
        "text": value.text,
        "time": time(value.time),
        "tool": tool
        and {
            "id": tool.id,
            "name": tool.name,
            "input": tool.input,
            "gist": tool.gist,
            "output": tool.output,
            "failed": tool.failed,
            "exit_code": tool.exit_code,
        },
    }


def demo(value: Demo) -> View:
    return {
        "repository": str(value.repository),
        "environment": dict(value.environment),
        "sessions": [str(ref) for ref in value.sessions],
    }


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
    return {
        "command": list(value.argv),
        "cwd": str(value.cwd),
        "env": dict(value.env),
    }


def plan(value: ForkPlan) -> View:
    return {
        "parent": str(value.point),
        "turn_id": value.point.turn_id,
        "child": f"{value.agent}:{value.new_id}" if value.new_id else None,
        "agent": value.agent,
        "method": value.method.value,
        "code": value.code.value,
        "workspace": str(value.workspace),
        "branch": value.worktree.branch if value.worktree else None,
        "title": value.title,
        "prompt": value.prompt,
        "before_compaction": value.before_compaction,
        "tokens": value.tokens,
        "window": value.window,
        **launch(value.launch),
        "warnings": list(value.warnings),
    }


def snapshot(value: Snapshot) -> View:
    return {
        "session": f"{value.agent}:{value.session}",
        "turn": value.number,
        "turn_id": value.turn_id,
        "repository": str(value.repo),
        "ref": value.ref,
        "commit": value.commit,
        "tree": value.tree,
        "staged_tree": value.staged_tree,
        "head": value.head,
        "branch": value.branch,
        "taken": time(value.taken),
        "late": value.late,
        "changed": value.changed,
        "degraded": value.degraded,
        "left_out": [
            {"path": item.path, "size": item.size, "reason": item.reason} for item in value.left_out
        ],
        "nested": [{"path": item.path, "commit": item.commit} for item in value.nested],
    }


def diff(value: CodeDiff) -> View:
    return {
        "from": str(value.old),
        "from_snapshot": value.old.snapshot.commit,
        "to": str(value.new),
        "to_snapshot": value.new.snapshot.commit,
        "files": [
            {
                "path": file.path,
                "old_path": file.old_path,
                "status": file.status,
                "added": file.added,
                "removed": file.removed,
                "binary": file.is_binary,
            }
            for file in value.files
        ],
        "added": value.stat.added,
        "removed": value.stat.removed,
        "since": _since(value),
        "notes": list(value.notes),
    }


def worktree(value: WorktreeStatus) -> View:
    created = value.worktree
    return {
        "name": value.name,
        "path": str(created.path),
        "repository": str(created.repo),
        "branch": created.branch,
        "base": created.base,
        "session": str(value.session) if value.session else None,
        "title": value.title,
        "parent": str(value.parent) if value.parent else None,
        "state": value.state.value,
        "created": time(created.created),
        "size": value.size,
        "dirty": value.work.would_be_lost,
        "files": list(value.work.files),
        "commits": value.work.commits,
        "under_way": value.work.under_way,
        "locked": value.locked,
        "processes": list(value.processes),
        "problem": value.problem,
    }


def fork(value: Fork) -> View:
    launched: View = {"command": [], "cwd": None, "env": {}}
    if value.launch:
        launched = launch(value.launch)
    return {
        "id": value.id,
        "parent": str(value.parent),
        "turn_id": value.parent.turn_id,
        "child": str(value.child),
        "method": value.method.value,
        "code": value.code.value,
        "path": str(value.path) if value.path else None,
        "workspace": str(value.workspace) if value.workspace else None,
        "branch": value.branch,
        "tokens": value.tokens,
        "window": value.window,
        "created": time(value.created),
        **launched,
        "warnings": list(value.warnings),
    }
