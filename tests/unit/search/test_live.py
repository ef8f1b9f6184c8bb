"""Words that are not finished yet."""

import pytest

from prong.search.query_terms import beginning_in


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("redi", "redi"),
        ("keep the Coun", "coun"),
        ("keep the counters ", None),
        ("r", None),
        ("", None),
        ("limit.", None),
        ("限流", None),
    ],
)
def test_the_last_word_while_it_may_get_longer(text: str, beginning: str | None) -> None:
    assert beginning_in(text) == beginning
