"""What is taken out of a text, and what stays because people write so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.redaction.visible import visible
from tests.property.damage import examples

STAYS = [
    "plain words,\nand\ttabs",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, with a non-joiner
    "\u0915\u094d\u200d\u0937 \u0d28\u0d4d\u200d",  # Hindi and Malayalam, with joiners
    "\U0001f469\U0001f3fd\u200d\U0001f4bb \u2764\ufe0f\u200d\U0001f525",
    "\U0001f3f3\ufe0f\u200d\U0001f308",
    "1\ufe0f\u20e3 \u260e\ufe0e \u2764\ufe0f",
    "\U0001f1eb\U0001f1f7 e\u0301 \u65e5\u672c\u8a9e \ue0b0",
]
GOES = [
    ("a\x00b\x1b[31mc\x1b]0;x\x07d\x9be", "abcde"),
    ("a\u202eb\u2066c\u200fd\u061ce", "abcde"),
    ("a\u200bb\u2060c\u00add\ufeffe\u3164f", "abcdef"),
    ("a\U000e0041\U000e0020b\U000e007f", "ab"),
    ("a\ufe0fb\ufe01\U000e0101c", "abc"),
    ("\u2764\ufe0f\ufe0f\ufe0e", "\u2764\ufe0f"),
    ("a\u200db\u200cc\u0645\u200c\u200cb", "abc\u0645b"),
    ("\U0001f600\U000e0100\ufe00", "\U0001f600"),
    ("a\r\nb\rc\u2028d\x85e", "a\nb\nc\nd\ne"),
    ("\ud83d\ude00 \ud800", "\U0001f600 \ufffd"),
]


@pytest.mark.parametrize("text", STAYS)
def test_what_people_write_stays(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(("text", "expected"), GOES)
def test_what_nobody_sees_goes(text: str, expected: str) -> None:
    assert visible(text) == expected


_MIXED = "ab \n\x1b[\x00\u200b\u200c\u200d\ufe0f\ufe0e\u202e\u0645\u2764\U0001f469\U000e0041"


@examples(300)
@given(
    st.text(
        st.sampled_from(
            "ab \n\x1b[\x00\u200b\u200c\u200d\ufe0f\ufe0e\u202e\u0645\u2764\U0001f469\U000e0041"
        )
    )
)
def test_a_second_time_changes_nothing(text: str) -> None:
    once = visible(text)
    assert visible(once) == once
    assert not set(once) & set("\x00\u200b\u202e\U000e0041")
