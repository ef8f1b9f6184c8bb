"""Forks as MCP tool results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from prong.mcp.hints import BY_USER
from prong.mcp.schemas import shaped
from prong.mcp.shapes import ForkedSession, MadeFork, PlannedFork

if TYPE_CHECKING:
    from prong.api.smart_fork import RunningFork
    from prong.model.forks import Fork, ForkPlan

CODES = Literal["turn", "now", "head", "none"]
_WANTS = f"it is waiting for input; {BY_USER} prong attach {{}}"


def forked_session(running: RunningFork) -> ForkedSession:
    worker, status, fork = running.worker, running.status, running.fork
    warnings = [*dict.fromkeys((*running.plan.warnings, *fork.warnings, *worker.warnings))]
    if status.state.value == "waiting":
        warnings.append(_WANTS.format(worker.name))
    return ForkedSession(
        session_name=worker.name,
        terminal_id=str(worker.pane) if worker.pane else None,
        resume_session_id=fork.parent.session.id,
        new_session_id=worker.session or fork.child.id,
        workspace=str(worker.workspace),
        agent=worker.agent,
        turn=fork.parent.turn,
        branch=worker.branch,
        code=fork.code.value,
        state=status.state.value,
        detail=status.evidence.detail,
        attach=f"prong attach {worker.name}",
        warnings=warnings,
    )


def planned_fork(plan: ForkPlan) -> PlannedFork:
    from prong.views import json

    return shaped(PlannedFork, json.plan(plan))


def made_fork(fork: Fork) -> MadeFork:
    from prong.views import json

    return shaped(MadeFork, json.fork(fork))
