"""What is news between two looks."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prong.model.record import replace
from prong.model.workers import Evidence, WorkerInfo, WorkerState, WorkerStatus
from prong.serve.changes import changes

NOW = datetime(2026, 11, 16, tzinfo=UTC)


def status(name: str, state: str, turn: int | None = None, **fields: Any) -> WorkerStatus:
    age = timedelta(seconds=sum(map(ord, name)))
    worker = WorkerInfo(name, "claude", Path("/shop"), ("claude",), NOW - age, session="s")
    evidence = Evidence(WorkerState(state), "hook", NOW)
    return WorkerStatus(replace(worker, **fields), evidence, turn=turn)


def told(before: list[WorkerStatus], now: list[WorkerStatus]) -> list[str]:
    first, then = ({one.worker.name: one for one in look} for look in (before, now))
    return [f"{event} {fields['worker']}" for event, fields in changes(first, then)]


def test_nothing_is_no_news() -> None:
    same = [status("a", "idle", 3), status("b", "busy", 1)]
    assert told(same, same) == []


def test_the_end_of_a_turn() -> None:
    assert told([status("a", "busy", 3)], [status("a", "idle", 3)]) == [
        "worker_state a",
        "turn_finished a",
    ]
    assert "turn_finished a" in told([status("a", "waiting")], [status("a", "idle")])


def test_turns_that_nobody_saw_running() -> None:
    idle = [status("a", "idle", 3)]
    assert told(idle, [status("a", "idle", 4)]) == ["turn_finished a"]
    assert told(idle, [status("a", "busy", 4)]) == ["worker_state a"]
    assert told(idle, [status("a", "busy", 5)]) == ["worker_state a", "turn_finished a"]
    busy = [status("a", "busy", 3)]
    assert told(busy, [status("a", "busy", 4)]) == ["turn_finished a"]
    # A rewind, and what cannot be told.
    assert told(idle, [status("a", "idle", 1)]) == []
    assert told(idle, [status("a", "unknown", 4)]) == ["worker_state a"]
    starting = [status("a", "starting")]
    assert told(starting, [status("a", "idle", 1)]) == ["worker_state a", "turn_finished a"]
    assert told(starting, [status("a", "idle", None)]) == ["worker_state a"]
    forked = [status("a", "idle", 1, forked_from="b")]
    assert told(starting, forked) == ["worker_state a"]


def test_turns_that_a_fork_has_inherited_do_not_end_again() -> None:
    inherited = {"s": 3}
    for state in ("starting", "busy", "waiting"):
        looks = {"a": status("a", state, 3)}, {"a": status("a", "idle", 3)}
        assert "turn_finished" not in [event for event, _ in changes(*looks, inherited)]
    own = {"a": status("a", "busy", 4)}, {"a": status("a", "idle", 4)}
    assert "turn_finished" in [event for event, _ in changes(*own, inherited)]


def test_coming_and_going() -> None:
    one, other = status("a", "idle"), status("b", "starting", forked_from="a")
    assert told([one], [one, other]) == ["worker_created b"]
    assert told([one, other], [other]) == ["worker_gone a"]
    gone = status("a", "gone")
    assert told([one], [gone]) == ["worker_state a", "worker_gone a"]
    assert told([gone], [gone]) == []
    assert told([gone], []) == []
    assert told([], [gone]) == ["worker_created a", "worker_gone a"]
    assert told([gone], [status("a", "starting")]) == ["worker_state a"]


def test_another_name_is_the_same_worker() -> None:
    one = status("a", "busy")
    renamed = replace(one, worker=replace(one.worker, name="z"))
    assert told([one], [renamed]) == ["worker_renamed z"]


def test_another_session_is_news() -> None:
    moved = status("a", "idle", session="t")
    assert told([status("a", "idle")], [moved]) == ["worker_state a"]
