"""JSON views of workers. Fields are added, never renamed (docs/reference/json.md)."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prong.model.workers import WorkerState, WorkerStatus
from prong.views import json
from prong.views.json import View

if TYPE_CHECKING:
    from prong.workers.request import WorkerPlan


def worker(value: WorkerStatus, now: datetime | None = None) -> View:
    info, evidence = value.worker, value.evidence
    return {
        "name": info.name,
        "worker": info.name,
        "agent": info.agent,
        "state": value.state.value,
        "evidence": evidence.source,
        "detail": evidence.detail,
        "age_s": age(value, now),
        "session": f"{info.agent}:{info.session}" if info.session else None,
        "turn": value.turn,
        **json.fields(info, "workspace", "worktree", "branch"),
        "pane": json.fields(info.pane, "terminal", "id") if info.pane else None,
        "headless": info.headless,
        "pid": info.process.pid if info.process else None,
        "command": words(info.command),
        **json.fields(info, "created", "started", "stopped"),
        **json.fields(value, "last_line", "last_input"),
        **json.fields(info, "fork", "forked_from", "version"),
        "exit_code": value.exit_code,
        **json.fields(info, "log", "commit_turns", "push"),
        "push_failure": value.push_failure,
    }


def status(value: WorkerStatus, now: datetime | None = None) -> View:
    """Convert a status for `prong status --json`: `idle` first, then every field of `prong ps`."""
    view = worker(value, now)
    first = {
        "worker": value.worker.name,
        "idle": value.state is WorkerState.IDLE,
        **{name: view[name] for name in ("state", "evidence", "age_s")},
    }
    return {**first, **view}


def plan(value: WorkerPlan) -> View:
    """Convert a start plan. Environment values are left out, because they may be secrets."""
    options, trust = value.request, value.trust
    fork = json.plan(value.fork) if value.fork else None
    if fork is not None:
        fork["env"] = sorted(fork["env"])
    return {
        "name": value.name,
        "agent": value.agent,
        "session": f"{value.agent}:{value.session}" if value.session else None,
        "workspace": str(value.workspace),
        "worktree": str(value.worktree.path) if value.worktree else None,
        "branch": value.worktree.branch if value.worktree else None,
        **json.fields(options, "terminal", "place", "headless"),
        "trusted": value.trusted,
        "trust_file": str(trust.path) if trust else None,
        "command": list(value.launch.argv) if value.launch else words(value.command),
        "env": sorted(options.env),
        "prompt": options.prompt,
        "fork": fork,
        "warnings": list(value.warnings),
    }


def age(value: WorkerStatus, now: datetime | None = None) -> float | None:
    """Return the seconds spent in this state, to the millisecond; None if unknown."""
    if value.evidence.time is None:
        return None
    elapsed = (now or datetime.now(UTC)) - value.evidence.time
    # Never negative, even if the clock was set back.
    return max(round(elapsed.total_seconds(), 3), 0.0)


def words(command: str | tuple[str, ...]) -> list[str]:
    """Split a configured command into the arguments that the program gets."""
    if isinstance(command, tuple):
        return list(command)
    try:
        return shlex.split(command)
    except ValueError:
        return [command]
