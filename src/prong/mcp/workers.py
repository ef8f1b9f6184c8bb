"""Workers as MCP tool results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prong.mcp.hints import BY_USER
from prong.mcp.schemas import shaped
from prong.mcp.shapes import WorkerRow

if TYPE_CHECKING:
    from prong.model.workers import WorkerStatus


def worker(status: WorkerStatus) -> WorkerRow:
    from prong.views import workers
    from prong.workers.launch import environment

    info = status.worker
    view = workers.worker(status)
    return shaped(
        WorkerRow,
        {
            **view,
            "terminal_id": str(info.pane) if info.pane else None,
            "badge": info.env.get(environment.BADGE),
            "issue_id": info.env.get(environment.ISSUE),
        },
    )


def what_to_do(found: list[WorkerStatus]) -> str | None:
    """Say what to do about the first worker that needs the user."""
    for status in found:
        name = status.worker.name
        if status.state.value == "waiting":
            return f"{name} is waiting for input; {BY_USER} prong attach {name}"
        if status.state.value == "gone":
            return f"{name} has ended; to restart it {BY_USER} prong restart {name}"
    return None
