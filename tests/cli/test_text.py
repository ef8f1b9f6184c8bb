"""Small words on text: cleaning, measuring, cutting, naming."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from prong.model.amounts import counted
from prong.views.text import (
    age,
    cells,
    clean,
    cut,
    cut_left,
    escaped,
    pad,
    short_ids,
    short_number,
    short_path,
)

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\nb", "a b"),
        ("a \r\n\t b", "a b"),
        ("a\u2028b\u2029c\x85d\x0be", "a b c d e"),
        ("\x1b[31m", "␛[31m"),
        ("\x7f\x9b", "␡\ufffd"),
        ("a\u202eb\u2066c\ufeff", "abc"),
        ("\ud800", "\ufffd"),
        ("two  spaces", "two  spaces"),
        ("👩\u200d👧", "👩\u200d👧"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_clean_keeps_lines_when_asked() -> None:
    assert clean("a\r\n\tb\rc\x1b\u2028", lines=True) == "a\n\tb␍c␛\ufffd"


def test_clean_is_fast_on_what_is_long() -> None:
    start = time.process_time()
    for text in (" " * 300_000, "\n \t" * 100_000, " \n" + " " * 300_000 + "x", "\x1b" * 100_000):
        clean(text)
    assert time.process_time() - start < 2


def test_escaped_json_means_the_same() -> None:
    text = '"\x7f\x9b\u2028\u202e\U000e0041é日"\n'
    assert escaped(text) == '"\\u007f\\u009b\\u2028\\u202e\\udb40\\udc41é日"\n'


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("🎉", 2), ("", 0)]
)
def test_cells(text: str, columns: int) -> None:
    assert cells(text) == columns


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
        ("abc", -3, ""),
    ],
)
def test_cut(text: str, columns: int, shown: str) -> None:
    assert cut(text, columns) == shown
    assert cells(shown) <= max(columns, 0)


def test_cut_left() -> None:
    assert cut_left("/a/long/path", 6) == "…/path"
    assert cut_left("/a", 6) == "/a"


def test_pad() -> None:
    assert pad("日", 4) == "日  "
    assert pad("long", 2) == "long"


@pytest.mark.parametrize(
    ("passed", "said"),
    [
        (timedelta(seconds=59), "now"),
        (timedelta(days=-3), "now"),
        (timedelta(minutes=59, seconds=59), "59m ago"),
        (timedelta(hours=23, minutes=59), "23h ago"),
        (timedelta(days=99), "99d ago"),
        (timedelta(days=100), "2026-08-07"),
    ],
)
def test_age(passed: timedelta, said: str) -> None:
    assert age(NOW - passed, NOW) == said


def test_no_age() -> None:
    assert age(None) == ""


@pytest.mark.parametrize(
    ("number", "said"),
    [(None, ""), (0, "0"), (999, "999"), (21_400, "21k"), (1_234_567, "1.2M")],
)
def test_short_number(number: int | None, said: str) -> None:
    assert short_number(number) == said


def test_counted() -> None:
    assert [counted(n, "turn") for n in (0, 1, 2)] == ["0 turns", "1 turn", "2 turns"]
    assert counted(2, "copy", "copies") == "2 copies"


def test_short_ids_are_unique_and_beginnings() -> None:
    ids = ["01a1e076-654d-aaaa", "01a1e076-654d-bbbb", "01a1e076-6999", "b54c2f90-0d0a", "short"]
    short = short_ids([*ids, ids[0]])
    assert short == {
        ids[0]: "01a1e076-654d-a",
        ids[1]: "01a1e076-654d-b",
        ids[2]: "01a1e076-69",
        ids[3]: "b54c2f90",
        "short": "short",
    }


def test_an_id_that_begins_another_is_shown_whole() -> None:
    short = short_ids(["abcdefghij", "abcdefghijkl"])
    assert short == {"abcdefghij": "abcdefghij", "abcdefghijkl": "abcdefghijk"}


def test_short_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert short_path("/home/ada") == "~"
    assert short_path("/home/ada/x") == "~/x"
    assert short_path("/home/adam") == "/home/adam"
    assert short_path(None) == ""
    monkeypatch.setenv("HOME", "/")
    assert short_path("/srv") == "/srv"
