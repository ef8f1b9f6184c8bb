"""Text that is made harmless for a terminal."""

import pytest

from prong.views.text import clean


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  plain  ", "plain"),
        ("one\n\n  two\t three \r\n", "one two three"),
        ("one\x85two\u2028three\vfour", "one two three four"),
        ("über\nälter", "über älter"),
        ("a\x1b[31mb\nc", "a␛[31mb c"),
        ("a\u202eb\n\u200bc", "ab c"),
        ("a\ud800\nb", "a\ufffd b"),
        ("\n\t\n", ""),
    ],
)
def test_a_text_is_one_harmless_line(text: str, expected: str) -> None:
    assert clean(text) == expected
