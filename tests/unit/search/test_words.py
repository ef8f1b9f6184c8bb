"""Identifiers and text without spaces, as words."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.search.analyzers import names_in, spelled, unspaced_in
from prong.search.query_terms import words_of


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("call getUserName now", {"get", "user", "name"}),
        ("an HTTPServer and parseJSON", {"http", "server", "parse", "json"}),
        ("in parse_json_file there", {"parse_json_file"}),
        ("src/prong/app.py:12", {"src/prong/app.py:12"}),
        ("(see `utils.readAll`)", {"utils.readall", "read", "all"}),
        ("version 2.1.325, rate-limit", {"2.1.325", "rate-limit"}),
        ("plain words. And more, of them!", set[str]()),
        ("Title Case Words", set[str]()),
    ],
)
def test_names(text: str, names: set[str]) -> None:
    assert set(names_in(text)) == names


COMPOUND = re.compile(r"[^\W_]+(?:(?:[_./:@#-]|::)+[^\W_]+)+")
CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@given(st.lists(st.text("aAbB9_./:@#-'\"(É\xdf\u01c5\u4e2d", min_size=1, max_size=8), max_size=4))
def test_what_is_quickly_seen_to_have_no_name_has_none(words: list[str]) -> None:
    names: set[str] = set()
    for word in words:
        names |= {compound.lower() for compound in COMPOUND.findall(word)}
        for part in filter(CAMEL.search, re.split(r"[\W_]+", word)):
            names |= {piece.lower() for piece in PART.findall(part) if len(piece) > 1}
    assert set(names_in(" ".join(words))) == names


def test_a_word_that_is_data_is_no_name() -> None:
    assert not names_in("a_b" * 200)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("速率限制", ["速率", "率限", "限制"]),
        ("a 请 b", ["请"]),
        ("ログイン画面", ["ログ", "グイ", "イン", "ン画", "画面"]),
        ("한국어 말", ["한국", "국어", "말"]),
        ("Größe und naïve", []),
    ],
)
def test_pairs_of_characters(text: str, pairs: list[str]) -> None:
    assert unspaced_in(text) == pairs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("用Redis缓存", "用 Redis 缓 缓存 存"),
        ("Dockerfileを直して", "Dockerfile を を直 直 直し し して て"),
        ("修复 src/app.py的", "修 修复 复 src/app.py 的"),
        ("人々", "人 人々 々"),
        ("Größe — naïve …", "Größe — naïve …"),
        ("half \udcff 锁", "half \udcff 锁"),
    ],
)
def test_text_without_spaces_is_spelled(text: str, words: str) -> None:
    assert spelled(text).split() == words.split()


def test_names_inside_text_without_spaces() -> None:
    assert set(names_in(spelled("修复了src/app.py里的getUserName函数" * 20))) == {
        "src/app.py",
        "get",
        "user",
        "name",
    }


def test_a_query_of_several_characters_is_its_pairs() -> None:
    words = words_of("用Redis缓存数据")
    assert words.stems == ("用", "redi", "缓存", "存数", "数据")
    assert words_of("锁").stems == ("锁",)


def test_only_so_many_words_of_a_long_query_are_looked_for() -> None:
    words = words_of("griffin " + " ".join(f"word{number}" for number in range(150_000)))
    assert words.stems[0] == "griffin"
    assert max(map(len, words)) < 100
    assert max(map(len, words_of("速率" + "".join(map(chr, range(0x4E00, 0x9000)))))) < 200


def test_half_a_character_is_no_error() -> None:
    assert words_of("griffin \udcff x").stems == ("griffin", "x")


@given(st.text())
def test_whatever_is_typed_gives_words(text: str) -> None:
    words = words_of(text)
    assert all(stem == stem.lower() for stem in words.stems)
    assert all(" " not in word for word in names_in(spelled(text)))
    assert bool(words.telling) == bool(words)


def test_words_that_say_nothing_are_left_out() -> None:
    assert words_of("the rate of the API").stems == ("rate", "api")
    assert words_of("to be or not").stems != ()
