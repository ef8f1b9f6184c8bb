"""Passages: harmless, in lines that fit, with their matches in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.cli.search.found_table import highlighted
from prong.model.search import Passage
from prong.views.passage import cleaned, fitted, within
from prong.views.text import cells

ESCAPE = "\x1b[31m"


def passage(text: str, *words: str) -> Passage:
    return Passage(text, tuple((text.index(word), text.index(word) + len(word)) for word in words))


def marked(one: Passage) -> list[str]:
    return [one.text[begin:end] for begin, end in one.marks]


def test_marks_move_with_what_is_cleaned() -> None:
    one = cleaned(passage(f"  a\r\n\tkey {ESCAPE} and\n\nlock  ", "key", "lock"))
    assert one.text == "a key ␛[31m and lock"
    assert marked(one) == ["key", "lock"]


@pytest.mark.parametrize("marks", [((2, 1),), ((0, 99),), ((-5, 2),), ((1, 3), (0, 2)), ((9, 9),)])
def test_marks_that_make_no_sense(marks: tuple[tuple[int, int], ...]) -> None:
    one = cleaned(Passage("words", marks))
    assert one.text == "words"
    assert all(0 <= begin < end <= 5 for begin, end in one.marks)


def test_a_short_one_is_one_line() -> None:
    [line] = fitted(passage("a key and a lock", "lock"), 40)
    assert (line.text, marked(line)) == ("a key and a lock", ["lock"])


def test_a_long_one_is_shown_around_its_first_match() -> None:
    one = passage("before " * 50 + "key " + "after " * 50 + "lock", "key", "lock")
    lines = fitted(one, 40)
    assert len(lines) == 2
    assert lines[0].text.startswith("…")
    assert lines[1].text.endswith("…")
    assert [word for line in lines for word in marked(line)] == ["key"]


def test_a_match_near_the_end_fills_the_lines() -> None:
    lines = fitted(passage("before " * 50 + "key", "key"), 40)
    assert len(lines) == 2
    assert marked(lines[1]) == ["key"]
    assert lines[1].text.endswith("key")


def test_in_a_pipe_nothing_is_cut() -> None:
    one = passage("before " * 500 + "key", "key")
    assert fitted(one, None) == [one]
    assert fitted(Passage(""), None) == []


def test_as_a_part_of_a_text() -> None:
    found = within(passage("… the key is …", "key"), "Where the key is kept")
    assert found
    assert (found.text, marked(found)) == ("Where the key is kept", ["key"])
    assert within(passage("another"), "Where the key is kept") is None
    assert within(Passage("…"), "Where the key is kept") is None


def test_colours_are_beside_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    one = passage("a key here", "key")
    assert highlighted(one) == "a \x1b[1mkey\x1b[0m here"
    monkeypatch.setenv("NO_COLOR", "1")
    assert highlighted(one, dim=True) == "a key here"


texts = st.text(st.characters() | st.sampled_from(" \n…\ue000\ue001\x1b界"), max_size=120)
marks = st.lists(st.tuples(st.integers(-3, 130), st.integers(-3, 130)), max_size=5).map(tuple)


@given(texts, marks, st.integers(5, 60), st.integers(1, 3))
def test_lines_fit_and_marks_are_inside(
    text: str, where: tuple[tuple[int, int], ...], columns: int, most: int
) -> None:
    one = cleaned(Passage(text, where))
    assert not set(one.text) & set("\n\x1b\ue000\ue001")
    lines = fitted(one, columns, most)
    assert len(lines) <= most
    for line in lines:
        assert cells(line.text) <= columns
        assert all(0 <= begin < end <= len(line.text) for begin, end in line.marks)


def test_a_long_word_is_cut_and_not_left_out() -> None:
    address = "https://example.org/" + "a/b" * 40
    [line] = fitted(Passage(f"pipeline fails now: {address}"), 76, 1)
    assert line.text.startswith("pipeline fails now: https://example.org/a/b")
    assert (cells(line.text), line.text[-1]) == (76, "…")


def test_a_match_behind_long_words_is_seen() -> None:
    one = passage(f"{'a' * 30} {'b' * 30} key", "key")
    assert [word for line in fitted(one, 40, 2) for word in marked(line)] == ["key"]


SPACED = st.text(st.sampled_from("ab \t\n\u00a0\u3000表e\u0301\u200b\x1b"), max_size=60)


@given(
    SPACED,
    SPACED,
    st.lists(st.tuples(st.integers(-2, 70), st.integers(-2, 70)), max_size=4),
    st.integers(4, 40),
    st.integers(1, 3),
    st.booleans(),
)
def test_any_text_in_any_room(
    text: str,
    prompt: str,
    marks: list[tuple[int, int]],
    columns: int,
    most: int,
    beginning: bool,
) -> None:
    one = cleaned(Passage(text, tuple(marks)))
    assert one.text == cleaned(Passage(one.text)).text
    lines = fitted(one, columns, most, beginning=beginning)
    assert len(lines) <= most
    for line in lines:
        assert cells(line.text) <= columns
        assert all(0 <= begin < end <= len(line.text) for begin, end in line.marks)
    if "".join(line.text for line in lines).replace(" ", "") == one.text.replace(" ", ""):
        shown = "".join(word for line in lines for word in marked(line))
        assert shown.replace(" ", "") == "".join(marked(one)).replace(" ", "")
    if one.marks and not beginning:
        assert any(line.marks for line in lines)
    whole = cleaned(Passage(prompt + text)).text
    if one.text and one.text in whole:
        found = within(one, whole)
        assert found is not None
        assert len(found.marks) == len(one.marks)
