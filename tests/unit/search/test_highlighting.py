"""Where the words of a query stand in a text."""

from prong.search.passages import highlighter


def marked(query: str, text: str) -> list[str]:
    return [text[begin:end] for begin, end in highlighter(query)(text)]


def test_in_any_form() -> None:
    assert marked("limit requests", "Limiting the request, unlimited") == ["Limiting", "request"]


def test_the_last_word_may_be_a_beginning() -> None:
    assert marked("keep the coun", "Keep the counters") == ["Keep", "counters"]


def test_matches_do_not_overlap() -> None:
    assert marked("counter", "counters and counter") == ["counters", "counter"]


def test_nothing_is_looked_for() -> None:
    assert marked("", "anything") == []
    assert marked("   ", "anything") == []
