"""The vocabulary: text forms, and that values are values."""

import inspect
from pathlib import Path

import pytest

from prong.model import sessions
from prong.model.forks import ForkPoint
from prong.model.record import Record
from prong.model.sessions import Session, SessionRef, TurnKind, TurnState

REF = SessionRef("claude", "60309e1e")
CLASSES = [
    cls
    for _, cls in inspect.getmembers(sessions, inspect.isclass)
    if issubclass(cls, Record) and cls is not Record
]


def test_text_forms() -> None:
    assert str(REF) == "claude:60309e1e"
    assert str(ForkPoint(REF, 12)) == "claude:60309e1e@12"
    assert str(ForkPoint(REF, 0)) == "claude:60309e1e@0"


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_values_are_frozen_and_say_what_they_are(cls: type[Record]) -> None:
    assert cls.__struct_config__.frozen
    assert cls.__doc__


def test_a_ref_is_a_key_and_has_an_order() -> None:
    assert {REF: 1}[SessionRef("claude", "60309e1e")] == 1
    assert SessionRef("claude", "b") < SessionRef("codex", "a")


def test_a_session_knows_the_halves_of_its_name_and_its_path() -> None:
    session = Session(REF, "/a/b.jsonl", "title")
    assert (session.agent, session.id, session.path) == ("claude", "60309e1e", Path("/a/b.jsonl"))


def test_kinds_and_states_are_the_words_of_the_docs() -> None:
    assert [kind.value for kind in TurnKind] == ["human", "command", "sdk", "notification"]
    assert [state.value for state in TurnState] == ["finished", "interrupted", "failed", "running"]
    concepts = (Path(__file__).parents[2] / "docs/concepts.md").read_text(encoding="utf-8")
    for word in (*TurnKind, *TurnState):
        assert f"`{word.value}`" in concepts
