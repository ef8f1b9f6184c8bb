"""JSON views of what is set up: scheduled jobs, and the MCP server."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from prong.views import json

if TYPE_CHECKING:
    from prong.setup.mcp import McpPlan
    from prong.setup.schedule import SchedulePlan, ScheduleStatus


def schedule_status(status: ScheduleStatus) -> dict[str, Any]:
    return {
        "with": status.scheduler,
        "state": status.state.value,
        "every_s": _seconds(status.job.every),
        "commands": list(status.job.commands),
        "next": json.time(status.job.next_run),
        "problem": status.problem,
    }


def schedule_plan(plan: SchedulePlan, *, done: bool) -> dict[str, Any]:
    return {
        "with": plan.scheduler,
        "changed": done and plan.needed,
        "every_s": _seconds(plan.every),
        "commands": list(plan.commands),
        "files": [
            {"path": str(edit.path), "change": edit.kind, "diff": edit.diff()}
            for edit in plan.edits
        ],
        "notes": list(plan.notes),
    }


def mcp_plan(plan: McpPlan, *, done: bool) -> dict[str, Any]:
    change = plan.change
    return {
        "agent": plan.agent,
        "scope": change.scope if change else None,
        "name": change.name if change else None,
        "changed": done and plan.needed and plan.error is None,
        "commands": [list(words) for words in plan.commands] if plan.needed else [],
        "path": str(plan.path) if plan.path else None,
        "change": plan.kind,
        "diff": plan.diff,
        "notes": list(plan.notes),
        "problem": plan.error.message if plan.error is not None else None,
    }


def _seconds(span: timedelta | None) -> int | None:
    return None if span is None else round(span.total_seconds())
