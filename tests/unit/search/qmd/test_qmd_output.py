"""What qmd prints, in all the forms in which it was seen, and in forms that nobody has seen."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.search.qmd.output import QmdRow, Unreadable, complaint_in, embeddings_wanted, rows_in
from tests.unit.search.stand_in import FILE, NEEDS, ROW, ROWS

EXPECTED = QmdRow(FILE, 0.49, "A token bucket\nfor the API.\n", 7, 8)
LINE = json.dumps(ROW)


@pytest.mark.parametrize(
    "output",
    [
        ROWS,
        json.dumps([ROW]),
        ROWS.replace("\n", "\r\n"),
        LINE,
        f"{LINE}\n",
        f"Loading models [1/3]\n[2/3] rerank\n[gpu] none\n{ROWS}",
        f"{ROWS}\nDone in 0.2 s\n{{ok}}\n",
        f"\x1b[2m[2K\x1b[0m\n{ROWS}\x1b[0m",
        f"[1]\n{{}}\n{ROWS}",
        json.dumps({"results": [ROW], "took": 3}),
        json.dumps([ROW, "text", 3, None, {"file": 4}]),
        f'{{"level": "info", "message": "warm"}}\n{LINE}\n',
        f"\ufeff\n{ROWS}",
    ],
)
def test_a_row_is_found(output: str) -> None:
    assert rows_in(output.encode()) == [EXPECTED]


def test_an_object_a_line() -> None:
    assert rows_in(f"{LINE}\n{LINE}\n\n{LINE}".encode()) == [EXPECTED] * 3


@pytest.mark.parametrize(
    "output",
    [
        "[]",
        "[]\n",
        "\x1b[33mhint\x1b[0m\n[]\nbye\n",
        "No results found.\n",
        "Searching...\nNo results found above minimum score threshold.\n",
        '{"results": []}',
    ],
)
def test_no_rows(output: str) -> None:
    assert rows_in(output.encode()) == []


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (b"", "nothing"),
        (b" \n\x1b[0m\n", "nothing"),
        (b"hello\nworld", "hello"),
        (b"\xff\xfe\x00", "did not print JSON"),
        (b"[1, 2]", "did not print JSON"),
        (b"null", "did not print JSON"),
        (b'{"a": 1}', "did not print JSON"),
        (b'{"error": "SQLITE_BUSY"}', "SQLITE_BUSY"),
        (b"[" * 100_000, "did not print JSON"),
        (b"[\n" * 100_000, "did not print JSON"),
        (f"[{LINE},\n{LINE},\n".encode(), "did not print JSON"),
        (f"[\n{LINE},\n{LINE}".encode()[:-5], "did not print JSON"),
        (ROWS.encode()[:-3], "did not print JSON"),
    ],
)
def test_no_answer(output: bytes, words: str) -> None:
    with pytest.raises(Unreadable, match=words):
        rows_in(output)


class Decoder(json.JSONDecoder):
    """Counts the starts, and the characters that it may have to read in vain."""

    starts = read = 0

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        Decoder.starts += 1
        try:
            return super().raw_decode(s, idx)
        except (ValueError, RecursionError):
            Decoder.read += len(s) - idx
            raise


@pytest.mark.parametrize(
    ("garbage", "times"),
    [
        ('[{"a":\n', 990),
        ('[\n{"a": "\n', 990),
        ('{"a":\n', 1),
        ('[{"file": "x", "a": "', 1),
        ("{}x\n", 70_000),
    ],
)
@pytest.mark.parametrize("rest", ["1,", "y", "\U0001f600"])
def test_garbage_is_not_read_over_and_over(
    garbage: str, times: int, rest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json, "JSONDecoder", Decoder)
    monkeypatch.setattr(Decoder, "starts", 0)
    monkeypatch.setattr(Decoder, "read", 0)
    with pytest.raises(Unreadable, match="did not print JSON"):
        rows_in((garbage * times + rest * 500_000).encode())
    assert Decoder.read < 20_000_000
    assert Decoder.starts < 70_000


def test_many_banners_and_many_lines_are_no_garbage() -> None:
    assert rows_in(("[1/3] loading\n" * 5000 + ROWS).encode()) == [EXPECTED]
    assert rows_in(f"{LINE}\n".encode() * 5000) == [EXPECTED] * 5000


def test_what_is_too_long_for_a_path_is_none() -> None:
    long = {"file": "qmd://c/" + "?index=" * 100_000 + "/", "score": 1}
    assert rows_in(json.dumps([long, ROW]).encode()) == [EXPECTED]


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (0.5, 0.5),
        (1, 1),
        (0, 0),
        (93, 1),
        (-2, 0),
        ("0.25", 0.25),
        ("high", 0),
        (None, 0),
        ([], 0),
        (float("nan"), 0),
        (float("inf"), 0),
        (10**400, 0),
    ],
)
def test_scores(score: Any, expected: float) -> None:
    assert rows_in(json.dumps([{"file": "a", "score": score}]).encode()) == [QmdRow("a", expected)]


@pytest.mark.parametrize(
    ("fields", "text", "first"),
    [
        ({}, "", None),
        ({"snippet": "@@ -12,3 @@ (11 before, 0 after)\na\nb"}, "a\nb", 12),
        ({"snippet": "@@ -1 @@\na"}, "a", 1),
        ({"snippet": "@@ -5,2 @@"}, "", 5),
        ({"snippet": "a\n@@ -5,2 @@\nb"}, "a\n@@ -5,2 @@\nb", None),
        ({"body": "all of it"}, "all of it", 1),
        ({"snippet": None, "body": 3}, "", None),
        ({"snippet": f"@@ -{'9' * 5000},1 @@\na"}, "a", 999_999_999),
    ],
)
def test_pieces(fields: dict[str, Any], text: str, first: int | None) -> None:
    (row,) = rows_in(json.dumps([{"file": "a", **fields}]).encode())
    assert (row.text, row.first_line) == (text, first)


@pytest.mark.parametrize(
    ("file", "address"),
    [
        ("qmd://notes/a/b.md", ("notes", "a/b.md")),
        ("qmd://notes/a b?.md?index=work", ("notes", "a b?.md")),
        ("qmd://notes", ("notes", "")),
        ("/abs/b.md", (None, "/abs/b.md")),
        ("./rel/b.md?index=x", (None, "./rel/b.md?index=x")),
    ],
)
def test_addresses(file: str, address: tuple[str | None, str]) -> None:
    assert QmdRow(file, 0).address == address


NODE = """file:///x/getLlama.js:293
        throw new NoBinaryFoundError();
              ^

NoBinaryFoundError: no binary
    at getLlamaForOptions (file:///x/getLlama.js:293:15)

Node.js v22.23.3
"""


@pytest.mark.parametrize(
    ("complaints", "line"),
    [
        ("", ""),
        ("\n  at x\n", ""),
        (NODE, "NoBinaryFoundError: no binary"),
        ("a warning\nCollection not found: nope\n", "Collection not found: nope"),
        ("\x1b[31merror: \x1b[1mbad\x1b[0m\nhelp: do this\n", "error: bad"),
        (
            "SQLiteError: no such column: claude\n      errno: 1,\n",
            "SQLiteError: no such column: claude",
        ),
        ("x" * 5000, "x" * 299 + "…"),
    ],
)
def test_complaints(complaints: str, line: str) -> None:
    assert complaint_in(complaints.encode()) == line


def test_wanted_embeddings() -> None:
    assert embeddings_wanted(f"noise\n{NEEDS}".encode()) == NEEDS.strip()
    assert embeddings_wanted(b"1 document needs embedding") == "1 document needs embedding"
    assert embeddings_wanted(b"all embeddings are fine") is None


# -- hypothesis --------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["file", "score", "snippet", "body", "results", "error", "line"])
            | st.text(max_size=5),
            inner,
            max_size=6,
        )
    ),
    max_leaves=20,
)
files = st.text(min_size=1, max_size=30).map(lambda text: f"qmd://c/{text}.md".strip())
real_rows = st.lists(
    st.fixed_dictionaries(
        {"file": files, "score": st.floats(0, 1), "snippet": st.text(max_size=60)}
    ),
    max_size=5,
)
banners = st.lists(
    st.text(st.characters(exclude_characters="[{", exclude_categories=["Cs", "Cc"]), max_size=20)
)


def check(rows: list[QmdRow]) -> None:
    for row in rows:
        assert row.file
        assert 0 <= row.score <= 1
        assert row.first_line is None or row.first_line >= 0


@given(st.binary(max_size=300))
def test_anything_is_read_or_refused(output: bytes) -> None:
    with suppress(Unreadable):
        check(rows_in(output))


@given(st.lists(json_values, max_size=5), st.booleans())
def test_any_json_is_read_or_refused(values: list[Any], indent: bool) -> None:
    output = "\n".join(json.dumps(value, indent=2 if indent else None) for value in values)
    with suppress(Unreadable):
        check(rows_in(output.encode("utf-8", "surrogatepass")))


@given(real_rows, banners, banners, st.sampled_from([None, 2]))
def test_banners_change_nothing(
    rows: list[dict[str, Any]], before: list[str], after: list[str], indent: int | None
) -> None:
    plain = json.dumps(rows, indent=indent)
    assert len(rows_in(plain.encode())) == len(rows)
    output = "\n".join([*before, plain, *after])
    assert rows_in(output.encode()) == rows_in(plain.encode())


@given(real_rows.filter(bool))
def test_lines_say_the_same_as_an_array(rows: list[dict[str, Any]]) -> None:
    lines = "\n".join(json.dumps(row) for row in rows)
    assert rows_in(lines.encode()) == rows_in(json.dumps(rows).encode())


@given(real_rows.filter(bool), st.data())
def test_an_array_that_was_cut_off_is_no_answer(
    rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    output = json.dumps(rows, indent=2)
    cut = data.draw(st.integers(1, len(output) - 1))
    with pytest.raises(Unreadable):
        rows_in(output[:cut].encode())


@given(st.text(max_size=200))
def test_any_complaint_is_one_short_line(text: str) -> None:
    line = complaint_in(text.encode("utf-8", "surrogatepass"))
    assert len(line) <= 300
    assert "\n" not in line
