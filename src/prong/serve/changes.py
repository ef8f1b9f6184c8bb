"""Events from the differences between two polls of the workers."""

from collections.abc import Iterator, Mapping
from typing import Any

from prong.model.workers import WorkerState, WorkerStatus
from prong.views import json

Change = tuple[str, dict[str, Any]]
"""Name of an event and its fields."""

NOTHING: Mapping[str, int] = {}
_AT_WORK = (WorkerState.BUSY, WorkerState.WAITING)


def changes(
    before: Mapping[str, WorkerStatus],
    now: Mapping[str, WorkerStatus],
    inherited: Mapping[str, int] = NOTHING,
) -> Iterator[Change]:
    """Yield events in order: new workers, changes of existing ones, then workers that ended.

    `inherited` maps sessions to the number of their turns that finished in another session.
    """
    renamed = _renamed(before, now)
    for old, new in renamed.items():
        yield "worker_renamed", {"worker": new, "was": old}
    earlier = {renamed.get(name, name): status for name, status in before.items()}
    for name, status in now.items():
        if name not in earlier:
            yield "worker_created", _created(status)
    for name, status in now.items():
        if name in earlier:
            own_from = inherited.get(status.worker.session or "", 0)
            yield from _of_one(earlier[name], status, own_from)
        elif status.state is WorkerState.GONE:
            yield "worker_gone", _gone(status)
    for name, status in earlier.items():
        if name not in now and status.state is not WorkerState.GONE:
            yield "worker_gone", _gone(status)


def _renamed(before: Mapping[str, WorkerStatus], now: Mapping[str, WorkerStatus]) -> dict[str, str]:
    """Map old to new names. A worker is recognized by its creation time."""
    lost = {status.worker.created: name for name, status in before.items() if name not in now}
    return {
        lost[status.worker.created]: name
        for name, status in now.items()
        if name not in before and status.worker.created in lost
    }


def _of_one(before: WorkerStatus, now: WorkerStatus, inherited: int) -> Iterator[Change]:
    if now.state is not before.state or now.worker.session != before.worker.session:
        yield "worker_state", _state(before, now)
    is_own = now.turn is None or (_last_finished(now) or 0) > inherited
    if is_own and _has_finished(before, now):
        yield "turn_finished", _turn(now)
    if now.state is WorkerState.GONE and before.state is not WorkerState.GONE:
        yield "worker_gone", _gone(now)


def _has_finished(before: WorkerStatus, now: WorkerStatus) -> bool:
    if now.state is WorkerState.IDLE and before.state in _AT_WORK:
        return True
    if before.state is WorkerState.STARTING and not now.worker.forked_from:
        # The turn had finished before the first poll.
        return now.state is WorkerState.IDLE and now.turn == 1
    finished, earlier = _last_finished(now), _last_finished(before)
    return finished is not None and earlier is not None and finished > earlier


def _last_finished(status: WorkerStatus) -> int | None:
    """Return the number of the last finished turn; None if it is unknown."""
    if status.turn is None:
        return None
    if status.state in _AT_WORK:
        return status.turn - 1
    return status.turn if status.state is WorkerState.IDLE else None


def _created(status: WorkerStatus) -> dict[str, Any]:
    info = status.worker
    return {
        **_who(status),
        "state": status.state.value,
        "workspace": str(info.workspace),
        "headless": info.headless,
        "fork": info.fork,
        "forked_from": info.forked_from,
    }


def _state(before: WorkerStatus, now: WorkerStatus) -> dict[str, Any]:
    return {
        **_who(now),
        "state": now.state.value,
        "was": before.state.value,
        "evidence": now.evidence.source,
        "since": json.time(now.evidence.time),
        "detail": now.evidence.detail,
    }


def _turn(status: WorkerStatus) -> dict[str, Any]:
    return {**_who(status), "turn": _last_finished(status), "last_line": status.last_line}


def _gone(status: WorkerStatus) -> dict[str, Any]:
    stopped = status.worker.stopped is not None
    return {**_who(status), "exit_code": status.exit_code, "stopped": stopped}


def _who(status: WorkerStatus) -> dict[str, Any]:
    info = status.worker
    session = f"{info.agent}:{info.session}" if info.session else None
    return {"worker": info.name, "agent": info.agent, "session": session}
