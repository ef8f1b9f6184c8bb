"""What is new between two looks at the workers, as events."""

from collections.abc import Iterator, Mapping
from typing import Any

from prong.model.workers import WorkerState, WorkerStatus
from prong.views import json

Change = tuple[str, dict[str, Any]]
"""The name of an event and its fields."""

NOTHING: Mapping[str, int] = {}
_AT_WORK = (WorkerState.BUSY, WorkerState.WAITING)


def changes(
    before: Mapping[str, WorkerStatus],
    now: Mapping[str, WorkerStatus],
    inherited: Mapping[str, int] = NOTHING,
) -> Iterator[Change]:
    """In the order in which they matter: first who came, then what they do, then who left.

    `inherited` has the number of turns that a session got from another one: they ended there.
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
    """Old name -> new name. When it was made says which one it is."""
    lost = {one.worker.created: name for name, one in before.items() if name not in now}
    return {
        lost[one.worker.created]: name
        for name, one in now.items()
        if name not in before and one.worker.created in lost
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
        # The turn was over before anybody looked.
        return now.state is WorkerState.IDLE and now.turn == 1
    done, earlier = _last_finished(now), _last_finished(before)
    return done is not None and earlier is not None and done > earlier


def _last_finished(status: WorkerStatus) -> int | None:
    """The number of the last turn that is over; None when that cannot be told."""
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
