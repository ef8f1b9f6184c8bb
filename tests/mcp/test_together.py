"""Calls at the same time, and what the client is told of those that take long."""

from concurrent.futures import wait
from typing import Any

import pytest

from prong.model.search import IndexProgress
from prong.search.service import SearchService
from tests.cli.shell import API, Shell
from tests.cli.worker_lab import WorkerLab
from tests.mcp.agent import Agent, checked


def test_many_calls_at_once(samples: Shell, agent: Agent) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("smart_fork", {"intent": "rate limiting the public API"}),
        ("smart_fork", {"intent": "the parser"}),
        ("find_sessions", {"intent": "search"}),
        ("find_sessions", {}),
        ("read_session", {"session": API}),
        ("list_turns", {"session": API}),
        ("list_workers", {}),
        ("prong_doctor", {}),
    ] * 3
    started = [agent.started(name, **arguments) for name, arguments in calls]
    wait(started, timeout=60)
    answers = [checked(one.result(1)) for one in started]
    assert answers[0]["results"][0]["session_id"] == API
    for first, second in zip(answers[:8], answers[8:16], strict=True):
        assert _what(first) == _what(second)


def _what(answer: dict[str, Any]) -> dict[str, Any]:
    """What is the same each time: a score may differ in the last digits."""
    results = [one["ref"] for one in answer.get("results", ())]
    return {**answer, "attempts": None, "results": results}


def test_two_forks_at_once(lab: WorkerLab, agent: Agent) -> None:
    id_ = lab.shell.simple(1, "Add rate limiting", cwd=str(lab.project))
    started = [agent.started("fork_session", session=id_, prompt=f"way {n}") for n in range(3)]
    made = [checked(one.result(60))["forked_session"] for one in started]
    assert len({one["session_name"] for one in made}) == 3
    assert len({one["new_session_id"] for one in made}) == 3
    assert len({one["workspace"] for one in made}) == 3
    assert len({one["branch"] for one in made}) == 3


def test_the_client_is_told_while_the_index_is_made(
    samples: Shell, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    from threading import Event

    seen = Event()
    find = SearchService.find

    def slow(self: SearchService, *arguments: object, **named: object) -> object:
        told = named["on_progress"]
        assert callable(told)
        told(IndexProgress("sessions", 3, 2_000))
        assert seen.wait(20)
        return find(self, *arguments, **named)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(SearchService, "find", slow)
    searching = agent.started("smart_fork", intent="parser")
    # Nobody who does not search waits for it.
    assert agent.ok("find_sessions")["sessions"]
    while not agent.progress:
        assert agent.ok("list_workers")["workers"] == []
    seen.set()
    assert checked(searching.result(30))["results"]
    assert agent.progress[0] == "reading sessions: 3 of 2000"
