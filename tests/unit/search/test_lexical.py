"""What the words of turns and sessions are worth."""

import shutil
from pathlib import Path

import pytest

from prong.search.lexical import Lexical, Scope, TurnWords
from prong.search.query_terms import words_of

ANYWHERE = Scope()


def turn(key: int, said: str = "", *, commands: str = "") -> TurnWords:
    return TurnWords(
        key=key,
        id=key,
        time=0,
        fingerprint=key,
        place=0,
        prompt=said,
        answer="",
        files="",
        commands=commands,
        output="",
        aside="",
        names=(),
    )


def filled(
    folder: Path, *turns: TurnWords, sessions: dict[int, tuple[str, tuple[str, ...]]] | None = None
) -> Lexical:
    lexical = Lexical(folder)
    writer = lexical.writer()
    for one in turns:
        writer.add_turn(1, one)
    for mark, (text, names) in (sessions or {}).items():
        writer.add_session(mark, text, names)
    writer.commit()
    writer.close()
    lexical.reload()
    return lexical


def test_what_a_session_is_worth_does_not_depend_on_how_many_turns_there_are(
    tmp_path: Path,
) -> None:
    sessions = {mark: (f"the cache of number{mark} " * mark, ()) for mark in range(1, 6)}
    few = filled(tmp_path / "few", sessions=sessions)
    many = filled(
        tmp_path / "many", *(turn(key, "a cache") for key in range(50)), sessions=sessions
    )
    words = words_of("cache number3")
    assert few.sessions(words, ANYWHERE, 10) == many.sessions(words, ANYWHERE, 10) != {}


def test_what_was_added_before_is_removed_and_what_comes_after_is_not(tmp_path: Path) -> None:
    lexical = Lexical(tmp_path / "words")
    writer = lexical.writer()
    writer.add_turn(1, turn(10, "an old cache"))
    writer.add_turn(2, turn(20, "another cache"))
    writer.remove(1)
    writer.add_turn(1, turn(11, "a new cache"))
    writer.commit()
    writer.close()
    lexical.reload()
    found = lexical.turns(words_of("cache"), ANYWHERE, 10)
    assert {one.key for one in found} == {11, 20}


def test_after_all_is_removed_only_what_comes_after_is_there(tmp_path: Path) -> None:
    lexical = Lexical(tmp_path / "words")
    writer = lexical.writer()
    writer.add_turn(1, turn(10, "an old cache"))
    writer.clear()
    writer.add_turn(1, turn(11, "a new cache"))
    writer.commit()
    writer.close()
    lexical.reload()
    assert [one.key for one in lexical.turns(words_of("cache"), ANYWHERE, 10)] == [11]


def test_a_session_is_found_by_the_parts_of_a_name(tmp_path: Path) -> None:
    sessions = {1: ("see parseHeader", ("parse", "header")), 2: ("nothing of it", ())}
    lexical = filled(tmp_path / "words", sessions=sessions)
    assert list(lexical.sessions(words_of("header"), ANYWHERE, 10)) == [1]


def test_turns_that_have_the_whole_query_in_a_command(tmp_path: Path) -> None:
    said = "remove the old cache, remove the old cache"
    lexical = filled(
        tmp_path / "words",
        turn(1, said, commands="git log"),
        turn(2, "done", commands='git commit -m "fix(io): remove the old cache"'),
        turn(3, said, commands="cache --old && remove the"),
    )

    def typed(text: str) -> list[int]:
        return [found.key for found in lexical.typed(words_of(text), ANYWHERE, 3)]

    assert typed("fix(io): remove the old cache") == [2]
    assert typed("remove old cache") == []
    # So few words stand in many commands.
    assert typed("old cache") == []


def test_nothing_is_found_by_no_words(tmp_path: Path) -> None:
    lexical = filled(tmp_path / "words", turn(1, "a cache"), sessions={1: ("a cache", ())})
    words = words_of("?")
    assert lexical.turns(words, ANYWHERE, 5) == []
    assert lexical.sessions(words, ANYWHERE, 5) == lexical.titles(words, ANYWHERE, 5) == {}


def test_an_index_without_its_sessions_is_damaged(tmp_path: Path) -> None:
    filled(tmp_path / "words", turn(1, "a cache"), sessions={1: ("a cache", ())})
    shutil.rmtree(tmp_path / "words" / "sessions")
    with pytest.raises(ValueError, match="sessions"):
        Lexical(tmp_path / "words")
