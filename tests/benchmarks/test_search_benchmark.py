"""The benchmark of searching measures what it says: needles are where they must be found."""

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from benchmarks import many_turns
from benchmarks.needles import Needle, plant
from benchmarks.search import Bench
from benchmarks.store import MANIFEST, write_store

EACH = 2


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("needles") / "store"
    manifest = write_store(root, sessions=120, megabytes=8, seed=3)
    (root / MANIFEST).write_bytes(msgspec.json.encode(manifest, enc_hook=str))
    return root


@pytest.fixture(scope="module")
def copy(store: Path) -> Path:
    return store.with_name("copy")


@pytest.fixture(scope="module")
def before(store: Path) -> dict[str, tuple[bytes, int]]:
    return content(store)


@pytest.fixture(scope="module")
def needles(store: Path, copy: Path, before: object) -> list[Needle]:
    return plant(store, copy, EACH)


def content(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in root.rglob("*.jsonl")
    }


def test_every_needle_is_in_the_sessions_it_names_and_in_no_other(
    copy: Path, needles: list[Needle]
) -> None:
    files = content(copy)
    for needle in needles:
        found = [name for name, (data, _) in files.items() if needle.word.encode() in data]
        assert len(found) == len(needle.sessions)
        assert all(any(id_ in name for name in found) for id_ in needle.sessions)


def test_there_are_needles_of_every_kind_and_forks_share_theirs(needles: list[Needle]) -> None:
    kinds = Counter(needle.kind for needle in needles)
    assert kinds == {"prompt": EACH, "answer": EACH, "output": EACH, "copied prompt": EACH}
    for needle in needles:
        assert (len(needle.sessions) > 1) == (needle.kind == "copied prompt")


def test_the_store_that_was_given_is_as_before_and_the_copy_has_its_times(
    store: Path,
    copy: Path,
    before: dict[str, tuple[bytes, int]],
    needles: list[Needle],
) -> None:
    assert content(store) == before
    after = content(copy)
    assert {name: time for name, (_, time) in after.items()} == {
        name: time for name, (_, time) in before.items()
    }
    assert any(after[name] != before[name] for name in before)
    for data, _ in after.values():
        for line in data.splitlines():
            json.loads(line)


def test_prong_finds_every_needle_first_and_no_copy_twice(
    copy: Path, needles: list[Needle], tmp_path: Path
) -> None:
    bench = Bench(copy, tmp_path, needles, peer=None)
    bench.index(rounds=1)
    counts = bench.found()["prong"]
    assert counts.first == counts.all == dict.fromkeys(counts.all, EACH)
    assert counts.duplicates == 0
    assert 0 < bench.sizes()["words"] < bench.sizes()["output"]
    assert bench.best["index output"].cpu > 0


def test_queries_in_an_index_of_many_turns_are_timed(tmp_path: Path) -> None:
    index = many_turns.build(tmp_path / "index", turns=200)
    latency = many_turns.measure(index, queries=40)
    assert latency.turns == 200
    assert 0 < latency.cpu_p50 <= latency.cpu_p95
    assert 0 < latency.wall_p50 <= latency.wall_p95
