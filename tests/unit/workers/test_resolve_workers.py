"""Where a session is asked for, the name of a worker does as well."""

from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prong.agents.claude.store import ClaudeStore
from prong.app import App
from prong.errors import NotFound
from prong.model.workers import WorkerInfo
from prong.testing.home import IsolatedHome

API = "60309e1e-8f4b-4b8e-9c55-1f0d2c7a9b01"


@pytest.fixture
def app(isolated_home: IsolatedHome) -> Generator[App]:
    ClaudeStore([isolated_home.claude]).write_samples(str(isolated_home.root), datetime.now(UTC))
    with App() as app:
        yield app


def record(app: App, name: str, session: str | None, agent: str = "claude") -> None:
    now = datetime.now(UTC)
    worker = WorkerInfo(name, agent, Path("/"), ("claude",), now, session, stopped=now)
    app.workers.records.add(worker)


def test_a_name(app: App) -> None:
    record(app, "calm-otter", API)
    found = app.sessions.resolve("calm-otter")
    assert found.session.id == API
    assert found.turn is None
    assert found.worker is not None
    assert found.worker.name == "calm-otter"
    found = app.sessions.resolve("calm-otter@2")
    assert (found.session.id, found.turn) == (API, "2")
    assert app.sessions.turns("calm-otter") == app.sessions.turns(API)


def test_before_the_beginning_of_an_id(app: App) -> None:
    """No worker can have a name that is one; the agent in front says what is meant."""
    record(app, "calm-otter", API)
    assert app.sessions.resolve("60309e1e").worker is None
    assert app.sessions.resolve(f"claude:{API}").worker is None
    with pytest.raises(NotFound, match="no session claude:calm-otter"):
        app.sessions.resolve("claude:calm-otter")


def test_an_unknown_session(app: App) -> None:
    record(app, "shy-newt", None, agent="codex")
    with pytest.raises(NotFound) as caught:
        app.sessions.resolve("shy-newt")
    assert caught.value.message == (
        "the session of shy-newt is not known: codex has not told its id yet"
    )
    assert caught.value.hint == (
        'prong send shy-newt "..." first, or see what it does: prong status shy-newt'
    )


def test_no_conversation_yet(app: App) -> None:
    record(app, "shy-newt", "0b1f6a2e-1c0d-4f0a-9d5e-2a7c6b3e4f10")
    with pytest.raises(NotFound, match="shy-newt has no conversation yet") as caught:
        app.sessions.resolve("shy-newt@1")
    assert caught.value.hint is not None
    assert "prong status shy-newt" in caught.value.hint


def test_no_such_name(app: App) -> None:
    with pytest.raises(NotFound, match="no session 'calm-otter'"):
        app.sessions.resolve("calm-otter")
