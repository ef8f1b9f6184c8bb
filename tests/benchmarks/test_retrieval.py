"""The retrieval benchmark measures what it says: its tables, its halves, its figures."""

import math
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.retrieval.figures import figures, interval, means
from benchmarks.retrieval.homes import without_titles
from benchmarks.retrieval.queries import PARAPHRASE, Asked, halves, read

QUERIES = """\
qid\tkind\tquery\tfile\texact_in_doc
q1\tintent\tadd a cache\ta.jsonl\t0
q2\tsubject\tfix: the cache\ta.jsonl\t1
q3\tsubject\tdrop the flag\tb.jsonl\t0
q3\tsubject\tdrop the flag\tc.jsonl\t0
"""
PARAPHRASES = """\
pid\tbase_qid\tkind\tquery\tfile
p1\tq3\tsubject\tget rid of that switch\td.jsonl
"""


@pytest.fixture
def asked(tmp_path: Path) -> list[Asked]:
    (tmp_path / "q.tsv").write_text(QUERIES)
    (tmp_path / "p.tsv").write_text(PARAPHRASES)
    return read(tmp_path / "q.tsv", tmp_path / "p.tsv")


def test_the_tables_are_read(asked: list[Asked]) -> None:
    by_id = {one.id: one for one in asked}
    assert list(by_id) == ["q1", "q2", "q3", "p1"]
    assert by_id["q3"].files == {"b.jsonl", "c.jsonl"}
    assert by_id["p1"].kind == PARAPHRASE
    assert [one.verbatim for one in asked] == [False, True, False, False]


def test_what_asks_for_the_same_is_one_family(asked: list[Asked]) -> None:
    one, two, three, other_words = (query.family for query in asked)
    assert one == two
    assert three == other_words != one


def test_no_family_is_in_both_halves() -> None:
    many = [
        Asked(f"q{number:03}", "kind", "text", frozenset({"f"}), f"family {number // 3}")
        for number in range(300)
    ]
    first, second = halves(many)
    assert not {one.family for one in first} & {one.family for one in second}
    assert Counter([*first, *second]) == Counter(many)
    assert abs(len(first) - len(second)) <= 3
    assert halves(list(reversed(many)))[0] == list(reversed(first))


def test_figures_by_hand() -> None:
    found = figures(["x", "b", "y", "c"], frozenset({"b", "c"}))
    assert found[:4] == (0, 1, 1, 0.5)
    ideal = 1 + 1 / math.log2(3)
    assert found.ndcg == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert figures(["b"], frozenset({"b"})) == (1, 1, 1, 1, 1)
    assert figures([], frozenset({"b"})) == (0, 0, 0, 0, 0)


def test_only_the_first_ten_count() -> None:
    assert figures([*"abcdefghij", "right"], frozenset({"right"})) == (0, 0, 0, 0, 0)


def test_means_and_intervals() -> None:
    some = [figures(["a"], frozenset({"a"})), figures(["b"], frozenset({"a"}))]
    assert means(some).ndcg == 0.5
    low, high = interval([0.0, 1.0] * 50)
    assert 0.35 < low < 0.5 < high < 0.65
    assert interval([0.25] * 10) == (0.25, 0.25)


def test_a_home_without_titles_has_all_the_rest(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    said = '{"type":"user","text":"the type is \\"ai-title\\""}'
    (folder / "s.jsonl").write_text(f'{{"type":"ai-title","aiTitle":"T"}}\n{said}\nnot JSON\n')
    bare = without_titles(tmp_path / "home", tmp_path / "bare")
    assert (bare / ".claude/projects/p/s.jsonl").read_text() == f"{said}\nnot JSON\n"
    assert (folder / "s.jsonl").read_text().count("\n") == 3
