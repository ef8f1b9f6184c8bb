"""Word pieces. What is expected is what the tokenizer gives with which the model was trained."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.search.embedder import MODEL_FOLDER, Pieces

VOCABULARY = (MODEL_FOLDER / "vocab.txt").read_text(encoding="utf-8").splitlines()
PIECES = Pieces(VOCABULARY)
MOST = 256


def words(text: str) -> str:
    return " ".join(VOCABULARY[number] for number in PIECES.numbers(text, MOST)[1:-1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Add rate-limiting to the public API!", "add rate - limiting to the public api !"),
        ("RateLimiter.acquire() raised", "rate ##lim ##iter . acquire ( ) raised"),
        ("src/prong/search/lexical.py", "sr ##c / pro ##ng / search / lexi ##cal . p ##y"),
        ("Überprüfung naïve Ñandú", "uber ##pr ##uf ##ung naive nan ##du"),
        ("日本語のテキスト 漢字", "日 本 語 の ##テ ##キ ##ス ##ト 漢 [UNK]"),
        ("ΟΔΥΣΣΕΥΣ", "ο ##δ ##υ ##σ ##σ ##ε ##υ ##σ"),  # noqa: RUF001
        ("한국어", "ᄒ ##ᅡ ##ᆫ ##ᄀ ##ᅮ ##ᆨ ##ᄋ ##ᅥ"),
        ("İstanbul", "istanbul"),
        ("don't", "don ' t"),
        ("$a += b|c ~ `d`", "$ a + = b | c ~ ` d `"),
        ("\U0001f600 done\u200b \u00a0now\ufffd\x00\x07", "[UNK] done now"),
        ("qzxjw", "q ##z ##x ##j ##w"),
        ("x" * 101 + " y", "[UNK] y"),
        ("half a pair \ud83d", "half a pair"),
        (" \t\r\n", ""),
        ("", ""),
    ],
)
def test_words_are_cut_as_the_model_learned_them(text: str, expected: str) -> None:
    assert words(text) == expected


def test_marks_of_the_model_in_a_text_are_words_like_others() -> None:
    assert words("[SEP]") == "[ sep ]"


@given(st.text(), st.integers(min_value=2, max_value=20))
def test_never_more_than_wanted(text: str, most: int) -> None:
    numbers = PIECES.numbers(text, most)
    begin, end = numbers[0], numbers[-1]
    assert (VOCABULARY[begin], VOCABULARY[end]) == ("[CLS]", "[SEP]")
    assert len(numbers) <= most
    assert numbers[:-1] == PIECES.numbers(text, MOST)[: most - 1][: len(numbers) - 1]
