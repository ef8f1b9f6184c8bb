"""The cache of vectors, and how it is filled. Most tests need no model: a vector is a vector."""

import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from prong.search.embedder import DIMENSIONS, Embedder
from prong.search.vectors import VectorCache, fill

Vectors = NDArray[np.float32]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "vectors.db"


@pytest.fixture
def cache(path: Path) -> Iterator[VectorCache]:
    cache = VectorCache(path)
    yield cache
    cache.close()


def some_vectors(count: int) -> Vectors:
    vectors = np.random.default_rng(7).standard_normal((count, DIMENSIONS), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def keyed(count: int) -> dict[bytes, Vectors]:
    return {VectorCache.key_of(str(n)): vector for n, vector in enumerate(some_vectors(count))}


class Counting(Embedder):
    """Notes what it is asked for; its vectors mean nothing."""

    def __init__(self, *, interrupt_after: int | None = None) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._interrupt_after = interrupt_after

    def embed(self, texts: Sequence[str]) -> Vectors:
        if self._interrupt_after is not None and len(self.texts) >= self._interrupt_after:
            raise KeyboardInterrupt
        self.texts += texts
        return some_vectors(len(texts))


def test_what_was_put_is_there_also_for_the_next(cache: VectorCache, path: Path) -> None:
    stored = keyed(3)
    cache.put(stored)
    again = VectorCache(path)
    found = again.get(stored)
    assert found.keys() == stored.keys()
    for key, vector in stored.items():
        assert found[key].dtype == np.float32
        assert np.linalg.norm(found[key]) == pytest.approx(1, abs=1e-5)
        assert found[key] @ vector > 0.9999
    again.close()


def test_what_is_not_there_is_left_out(cache: VectorCache) -> None:
    stored = keyed(2)
    cache.put(stored)
    missing = VectorCache.key_of("something else")
    assert cache.get([missing, *stored]).keys() == stored.keys()
    assert cache.known([missing, *stored]) == stored.keys()
    assert cache.get([]) == {}
    assert cache.known([]) == set()
    assert cache.count() == 2


def test_more_keys_than_one_statement_takes(cache: VectorCache) -> None:
    stored = keyed(1_203)
    cache.put(stored)
    assert cache.get(stored).keys() == stored.keys()


def test_a_vector_put_twice_is_the_later_one(cache: VectorCache) -> None:
    one, other = some_vectors(2)
    key = VectorCache.key_of("text")
    cache.put({key: one})
    cache.put({key: other})
    assert cache.count() == 1
    assert cache.get([key])[key] @ other > 0.999


def test_a_vector_of_nothing_does_no_harm(cache: VectorCache) -> None:
    key = VectorCache.key_of("text")
    cache.put({key: np.zeros(DIMENSIONS, dtype=np.float32)})
    assert np.array_equal(cache.get([key])[key], np.zeros(DIMENSIONS))


def test_a_key_is_of_a_text_and_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    key = VectorCache.key_of("text")
    assert len(key) == 16
    assert key == VectorCache.key_of("text")
    assert key != VectorCache.key_of("text ")
    assert VectorCache.key_of("half a pair: \ud83d")
    monkeypatch.setattr("prong.search.vectors._PERSON", b"another model")
    assert VectorCache.key_of("text") != key


def test_only_what_is_wanted_is_kept(cache: VectorCache) -> None:
    stored = keyed(5)
    cache.put(stored)
    wanted = set(list(stored)[:2])
    cache.keep_only(wanted)
    assert cache.known(stored) == wanted


def test_the_file_is_for_the_user_alone(cache: VectorCache, path: Path) -> None:
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "content", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5_000]
)
def test_a_damaged_file_is_replaced(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    cache = VectorCache(path)
    stored = keyed(1)
    cache.put(stored)
    cache.put(stored)  # the first may have been the one that found the damage
    assert cache.get(stored).keys() == stored.keys()
    cache.close()


def test_damage_while_it_is_open_costs_only_what_was_in_it(cache: VectorCache, path: Path) -> None:
    cache.put(keyed(200))
    with path.open("r+b") as file:
        file.truncate(8192)
        file.seek(0)
        file.write(b"\xff" * 8192)
    assert cache.get(keyed(200)) == {}
    cache.put(keyed(2))
    assert cache.count() == 2


def test_a_file_of_another_version_is_replaced(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE vectors (other)")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    cache = VectorCache(path)
    cache.put(keyed(1))
    assert cache.count() == 1
    cache.close()


def test_a_vector_of_another_size_is_not_given_out(cache: VectorCache, path: Path) -> None:
    stored = keyed(2)
    cache.put(stored)
    connection = sqlite3.connect(path)
    first = next(iter(stored))
    with connection:
        connection.execute("UPDATE vectors SET vector = x'00' WHERE key = ?", (first,))
    connection.close()
    assert cache.get(stored).keys() == stored.keys() - {first}


def test_a_deleted_file_costs_only_what_was_in_it(cache: VectorCache, path: Path) -> None:
    cache.put(keyed(1))
    path.unlink()
    cache.put(keyed(2))
    again = VectorCache(path)
    assert again.count() == 0
    again.close()


def test_without_a_place_for_it_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = VectorCache(tmp_path / "file" / "vectors.db")
    cache.put(keyed(1))
    cache.keep_only([])
    assert cache.get(keyed(1)) == {}
    assert cache.known(keyed(1)) == set()
    assert cache.count() == 0
    cache.close()


def test_a_lock_is_waited_for_but_not_for_long(cache: VectorCache, path: Path) -> None:
    cache.put(keyed(1))
    other = sqlite3.connect(path)
    other.execute("BEGIN EXCLUSIVE")
    assert cache.get(keyed(1)) == {}
    other.rollback()
    other.close()
    assert cache.get(keyed(1)).keys() == keyed(1).keys()


def test_several_writers_at_once(path: Path) -> None:
    stored = list(keyed(400).items())

    def write(part: int) -> None:
        mine = VectorCache(path)
        for at in range(part, len(stored), 40):
            mine.put(dict(stored[at : at + 10]))
        mine.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(0, 40, 10)))
    cache = VectorCache(path)
    assert cache.known(key for key, _ in stored) == {key for key, _ in stored}
    cache.close()


def test_fill_embeds_what_is_missing_and_each_text_once(cache: VectorCache) -> None:
    embedder = Counting()
    assert fill(cache, embedder, ["one", "two", "one"]) == 2
    assert fill(cache, embedder, iter(["three", "two", "one"])) == 1
    assert embedder.texts == ["one", "two", "three"]
    assert cache.known(map(cache.key_of, embedder.texts)) == set(map(cache.key_of, embedder.texts))


def test_fill_tells_how_far_it_is(cache: VectorCache) -> None:
    told: list[tuple[int, int]] = []
    texts = [str(number) for number in range(70)]
    fill(cache, Counting(), texts, progress=lambda done, total: told.append((done, total)))
    assert told == [(32, 70), (64, 70), (70, 70)]


def test_an_interrupt_leaves_what_was_finished(cache: VectorCache) -> None:
    embedder = Counting(interrupt_after=60)
    texts = [str(number) for number in range(100)]
    with pytest.raises(KeyboardInterrupt):
        fill(cache, embedder, texts)
    assert cache.count() == 64
    assert fill(cache, Counting(), texts) == 36


def test_nothing_to_embed_needs_no_model(cache: VectorCache) -> None:
    fill(cache, Counting(), ["text"])
    embedder = Embedder()
    assert fill(cache, embedder, ["text"]) == 0
    assert not embedder.loaded


def test_the_cache_gives_the_nearness_that_the_model_gives(cache: VectorCache) -> None:
    embedder = Embedder()
    texts = ["limit the rate of requests", "throttle a client", "apple cake"]
    fill(cache, embedder, texts)
    vectors = embedder.embed(texts)
    found = cache.get(map(cache.key_of, texts))
    stored = np.stack([found[cache.key_of(text)] for text in texts])
    assert stored @ stored.T == pytest.approx(vectors @ vectors.T, abs=0.005)


def test_the_nearest_of_all(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "vectors.db")
    vectors = np.eye(DIMENSIONS, dtype=np.float32)[:20]
    keys = [VectorCache.key_of(str(number)) for number in range(20)]
    cache.put(dict(zip(keys, vectors, strict=True)))
    asked = (vectors[3] * 0.8 + vectors[7] * 0.6).astype(np.float32)
    found = cache.nearest(asked, 2)
    assert list(found) == [keys[3], keys[7]]
    assert found[keys[3]] == pytest.approx(0.8, abs=0.01)
    assert VectorCache(tmp_path / "other.db").nearest(asked, 2) == {}
