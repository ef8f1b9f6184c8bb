"""Doing something as soon as the agent is done."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime

import pytest

from prong.agents.claude.store import ClaudeStore
from prong.app import App
from prong.errors import Busy
from prong.model.sessions import Session
from prong.testing.home import IsolatedHome


@pytest.fixture
def app(isolated_home: IsolatedHome) -> Iterator[App]:
    with closing(App(needs_programs=False)) as app:
        yield app


@pytest.fixture
def session(app: App, isolated_home: IsolatedHome) -> Session:
    ClaudeStore([isolated_home.claude]).write_samples(
        str(isolated_home.projects), datetime.now(UTC)
    )
    return app.sessions.all()[0]


class _Act:
    def __init__(self, *problems: Busy) -> None:
        self.problems = list(problems)

    def __call__(self) -> str:
        if self.problems:
            raise self.problems.pop(0)
        return "done"


def test_what_can_be_done_is_done_at_once(app: App, session: Session) -> None:
    told: list[str] = []
    assert app.sessions.when_idle(session, _Act(), waiting=lambda: told.append("waiting")) == "done"
    assert told == []


def test_an_idle_agent_that_still_writes_is_waited_for(app: App, session: Session) -> None:
    """It is told of once, however often it takes."""
    told: list[str] = []
    act = _Act(Busy("at work"), Busy("grew while it was copied"))
    assert app.sessions.when_idle(session, act, 60, lambda: told.append("waiting")) == "done"
    assert told == ["waiting"]


def test_not_for_ever(app: App, session: Session) -> None:
    with pytest.raises(Busy, match=r"after 0\.01 s"):
        app.sessions.when_idle(session, _Act(*(Busy("at work") for _ in range(1000))), 0.01)


def test_nothing_is_made_twice(app: App, session: Session) -> None:
    act = _Act(Busy("at work", made=["claude:1"]))
    with pytest.raises(Busy, match="at work"):
        app.sessions.when_idle(session, act)
