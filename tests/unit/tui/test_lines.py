"""Lines that are drawn: broken to fit, in pieces of one style."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from prong.tui.widgets.lines import Line, Mark, drawn, line, parted, rows_of
from prong.views.text import cells

TEXTS = st.text(st.sampled_from("ab c日é\u0301.-/"), max_size=120)


@given(st.lists(TEXTS, max_size=5), st.integers(2, 40))
def test_nothing_is_wider_than_the_screen_and_nothing_is_lost(
    texts: list[str], columns: int
) -> None:
    lines = [Line(text) for text in texts]
    rows = rows_of(lines, columns)
    for row in rows:
        assert row.indent + cells(texts[row.line][row.start : row.end]) <= columns
    for number, text in enumerate(texts):
        pieces = [text[row.start : row.end] for row in rows if row.line == number]
        # Only a space at which a line is broken goes.
        assert "".join(pieces).replace(" ", "") == text.replace(" ", "")


def test_lines_are_broken_between_words() -> None:
    text = "one two three four"
    shown = [text[row.start : row.end] for row in rows_of([Line(text)], 9)]
    assert shown == ["one two", "three", "four"]


@pytest.mark.parametrize(
    ("text", "indent"),
    [
        ("one two three four", 0),
        ("    one two three four", 4),
        ("  -    one two three four", 7),
        ("- one two three four", 2),
        ("+one two three four", 1),
        (" " * 20 + "one two three four", 0),  # so far to the right, most of the room would be lost
    ],
)
def test_a_broken_line_goes_on_below_its_own_words(text: str, indent: int) -> None:
    first, *others = rows_of([Line(text * 3)], 24)
    assert first.indent == 0
    assert {row.indent for row in others} == {indent}


def test_an_empty_line_is_a_line() -> None:
    assert len(rows_of([Line(), Line("x")], 10)) == 2


def test_pieces_of_a_line() -> None:
    made = line("a ", ("name", "name"), ("", "dim"), " b")
    assert made.text == "a name b"
    assert made.marks == (Mark(2, 6, "name"),)


@given(
    TEXTS,
    st.lists(
        st.builds(
            Mark, st.integers(-3, 130), st.integers(-3, 130), st.sampled_from(["bold", "match"])
        ),
        max_size=6,
    ),
)
def test_drawing_changes_no_text(text: str, marks: list[Mark]) -> None:
    segments = drawn(text, marks, lambda _: Style(bold=True), Style())
    assert "".join(segment.text for segment in segments) == text


@given(st.text(max_size=30))
def test_nothing_is_drawn_that_a_terminal_would_obey(text: str) -> None:
    segments = drawn(text, (), lambda _: Style(), Style())
    shown = "".join(segment.text for segment in segments)
    assert shown.isprintable()
    assert len(shown) == len(text)


@given(TEXTS, st.integers(0, 3))
def test_very_long_lines_are_parted(text: str, repeats: int) -> None:
    long = text + "word " * 900 * repeats
    whole = Line(long, "dim", (Mark(0, len(long), "bold"),))
    parts = list(parted([whole]))
    assert "".join(part.text for part in parts) == long
    assert all(len(part.text) <= 2_000 for part in parts)
    assert all(part.style == "dim" and part.marks for part in parts if part.text)
