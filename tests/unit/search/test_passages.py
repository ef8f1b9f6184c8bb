"""Passages: short, around the words, with marks that fit."""

from hypothesis import given
from hypothesis import strategies as st

from prong.search.passages import WIDTH, Marker
from prong.search.query_terms import words_of


def marked(query: str, *texts: str) -> list[str]:
    passage = Marker(words_of(query)).passage(texts)
    return [passage.text[start:end] for start, end in passage.marks] if passage else []


def test_all_forms_of_a_word_are_marked() -> None:
    text = "Limits: the limiter limited unlimited rates at a rate"
    assert marked("limiting the rate", text) == ["Limits", "limiter", "limited", "rates", "rate"]


def test_other_signs_in_a_text_change_nothing() -> None:
    assert marked("limiting the rate", "Über “Limits” … the Rate") == ["Limits", "Rate"]
    # Its small form is longer: places in it would be others.
    assert marked("limiting", "İ Limits") == ["Limits"]
    assert marked("über limits", "ÜBER Limits") == ["ÜBER", "Limits"]


def test_parts_of_identifiers_are_marked() -> None:
    assert marked("user name", "call getUserName(x)") == ["User", "Name"] or marked(
        "user name", "call getUserName(x)"
    ) == ["User"]
    assert marked("json", "parse_json_file") == ["json"]


def test_words_in_text_without_spaces_are_marked() -> None:
    assert marked("redis", "用Redis缓存会话") == ["Redis"]
    assert marked("Redis缓存", "缓存Redis, 用Redis缓存") == ["缓存", "Redis", "Redis", "缓存"]
    assert marked("锁", "数据库锁") == ["锁"]
    assert marked("Größe", "die Größen") == ["Größe"]


def test_the_text_with_most_of_the_words_is_shown() -> None:
    passage = Marker(words_of("rate limit api")).passage(
        ["a rate is a rate is a rate", "an API with a rate limit"]
    )
    assert passage is not None
    assert passage.text == "an API with a rate limit"


def test_lines_become_one() -> None:
    passage = Marker(words_of("rate")).passage(["one\n\n  rate\ttwo"])
    assert passage is not None
    assert passage.text == "one rate two"
    assert passage.marks == ((4, 8),)


def test_no_word_no_passage() -> None:
    assert Marker(words_of("rate")).passage(["nothing"]) is None
    assert Marker(words_of("?!")).passage(["nothing"]) is None


@given(st.text(), st.lists(st.text(), max_size=3))
def test_marks_are_inside_and_in_order(query: str, texts: list[str]) -> None:
    passage = Marker(words_of(query)).passage([*texts, f"{texts} {query} {texts}"])
    if passage is not None:
        assert len(passage.text) <= WIDTH + 2
        edges = [edge for mark in passage.marks for edge in mark]
        assert edges == sorted(edges)
        assert not edges or (edges[0] >= 0 and edges[-1] <= len(passage.text))
        assert passage.marks
