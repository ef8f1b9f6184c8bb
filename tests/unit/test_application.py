"""`App`, the Python API: what a script would write."""

from pathlib import Path

import pytest

from prong import App
from prong.config import Config
from prong.errors import NotFound
from prong.model.sessions import Session, SessionRef, View
from prong.testing.home import IsolatedHome


@pytest.fixture
def app(isolated_home: IsolatedHome) -> App:
    made = App(Config()).setup.demo(isolated_home.root / "demo")
    return App(Config(), stores=made.stores, remember=False)


def test_sessions_turns_and_messages(app: App) -> None:
    newest = app.sessions.all()[0]
    assert len(app.sessions.turns(newest)) == newest.turn_count == 3
    assert app.sessions.turns(str(newest.ref)) == app.sessions.turns(newest)
    messages = list(app.sessions.messages(newest))
    assert messages[0].text.startswith("Add rate limiting")


def test_one_turn(app: App) -> None:
    found = app.sessions.resolve("claude:60309e1e@2")
    assert found.turn == "2"
    conversation = app.sessions.conversation(found.session)
    turn = app.sessions.turn(conversation, found.turn)
    assert turn is not None
    assert {message.turn for message in app.sessions.messages(found.session, turn=turn)} == {2}
    assert all(line.startswith(b"{") for line in app.sessions.raw(found.session, turn=turn))
    assert app.sessions.turn(conversation, "0") is None


def test_context_is_another_view(app: App) -> None:
    session = app.sessions.get("claude:60309e1e")
    history = [message.text for message in app.sessions.messages(session)]
    context = [message.text for message in app.sessions.messages(session, view=View.CONTEXT)]
    assert len(context) < len(history)


def test_a_session_of_an_agent_that_is_not_there(app: App) -> None:
    stranger = Session(SessionRef("cursor", "x"), "/x", "x")
    with pytest.raises(NotFound, match="unknown agent 'cursor'"):
        app.sessions.conversation(stranger)


def test_without_remembering_nothing_is_written(app: App, isolated_home: IsolatedHome) -> None:
    assert app.sessions.all()
    assert list((isolated_home.root / ".cache").iterdir()) == []


def test_the_samples_stay_in_their_folder(isolated_home: IsolatedHome, tmp_path: Path) -> None:
    home = tmp_path / "elsewhere"
    made = App(Config()).setup.demo(home)
    assert all(
        session.path.is_relative_to(home) for session in App(stores=made.stores).sessions.all()
    )
    assert (made.repository / ".git").is_dir()
    assert {ref.agent for ref in made.sessions} == {"claude", "codex"}
    with pytest.raises(FileExistsError):
        App(Config()).setup.demo(home)
