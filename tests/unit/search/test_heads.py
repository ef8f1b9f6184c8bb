"""The beginning of a text: short, and never with half a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.search.turn_words import head


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  short  ", "short"),
        ("one two threefour", "one two "),
        ("1234567890 ab", "1234567890"),
        ("速率限制功能加上接口和文件", "速率限制功能加上接口"),
        ("密钥sk-12345678 is it", "密钥"),
        ('{"a":"bcdefghijk"}', '{"a":"'),
        ("eyJhbGciOiJIUzI1NiJ9", ""),
        ("a \udcff", "a ?"),
    ],
)
def test_heads_of_ten(text: str, expected: str) -> None:
    assert head(text, 10) == expected


@given(st.text(), st.integers(1, 50))
def test_a_head_is_a_beginning(text: str, length: int) -> None:
    made = head(text, length)
    assert len(made) <= length
    assert text.strip().startswith(made)
