"""Vector cache: sentence vectors in SQLite, keyed by text.

It can be rebuilt: when it is damaged, prong starts a new one, and without it prong works more
slowly. Several processes may use it at once.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from prong.search.embedder import DIMENSIONS, MODEL_ID, Embedder
from prong.storage.cache_file import CacheFile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_VERSION = 1
_SCHEMA = "CREATE TABLE vectors (key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL)"
_KEY_BYTES = 16
_PERSON = blake2b(MODEL_ID.encode(), digest_size=_KEY_BYTES).digest()
_LARGEST = 127
_AT_ONCE = 500
"""Maximum number of parameters in one statement."""
_BATCH = 32
"""Texts to embed before saving: about a second of work."""

T = TypeVar("T")


class VectorCache:
    """Vectors in one SQLite file, one byte per number; cosines are exact to three digits."""

    def __init__(self, path: Path) -> None:
        self._file = CacheFile(path, _VERSION, _SCHEMA)

    def close(self) -> None:
        self._file.close()

    @staticmethod
    def key_of(text: str) -> bytes:
        """Return the key of a text, which depends on the model."""
        written = text.encode(errors="surrogatepass")
        return blake2b(written, digest_size=_KEY_BYTES, person=_PERSON).digest()

    def get(self, keys: Iterable[bytes]) -> "dict[bytes, NDArray[np.float32]]":
        """Get the known vectors by key, normalized to length 1."""
        known = _matrix(self._select("SELECT key, vector FROM vectors", keys))
        return dict(zip(*known, strict=True))

    def nearest(self, vector: "NDArray[np.float32]", count: int) -> dict[bytes, float]:
        """Find the nearest vectors to a unit vector; returns cosines by key."""
        nearest: list[tuple[float, bytes]] = []
        after = b""
        query = "SELECT key, vector FROM vectors WHERE key > ? ORDER BY key LIMIT 10000"
        while rows := self._file.rows(query, (after,)):
            after = rows[-1][0]
            keys, vectors = _matrix(rows)
            candidates = zip((vectors @ vector).tolist(), keys, strict=True)
            nearest = heapq.nlargest(count, (*nearest, *candidates))
        return {key: cosine for cosine, key in nearest}

    def known(self, keys: Iterable[bytes]) -> set[bytes]:
        return {key for (key,) in self._select("SELECT key FROM vectors", keys)}

    def put(self, vectors: "Mapping[bytes, NDArray[np.float32]]") -> None:
        import numpy as np

        def as_bytes(vector: "NDArray[np.float32]") -> bytes:
            # Only the direction matters: every vector has length 1.
            largest = float(np.abs(vector).max()) or 1.0
            return np.rint(vector * (_LARGEST / largest)).astype(np.int8).tobytes()

        rows = ((key, as_bytes(vector)) for key, vector in vectors.items())
        self._file.write(("INSERT OR REPLACE INTO vectors (key, vector) VALUES (?, ?)", rows))

    def keep_only(self, keys: Iterable[bytes]) -> None:
        """Delete all other vectors: those of deleted sessions and of other models."""
        wanted_keys = set(keys)
        stored = [key for (key,) in self._file.rows("SELECT key FROM vectors")]
        stale = [(key,) for key in stored if key not in wanted_keys]
        self._file.write(("DELETE FROM vectors WHERE key = ?", stale))

    def count(self) -> int:
        rows = self._file.rows("SELECT count(*) FROM vectors")
        return rows[0][0] if rows else 0

    def _select(self, select: str, keys: Iterable[bytes]) -> Iterator[Any]:
        for batch in _batches(keys, _AT_ONCE):
            placeholders = ", ".join("?" * len(batch))
            yield from self._file.rows(f"{select} WHERE key IN ({placeholders})", batch)


def _matrix(rows: "Iterable[tuple[bytes, bytes]]") -> "tuple[list[bytes], NDArray[np.float32]]":
    """Return the keys of stored vectors, and the vectors, normalized to length 1."""
    import numpy as np

    complete = [row for row in rows if len(row[1]) == DIMENSIONS]
    numbers = np.frombuffer(b"".join(vector for _, vector in complete), dtype=np.int8)
    vectors = numbers.reshape(len(complete), DIMENSIONS).astype(np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)
    return [key for key, _ in complete], vectors


def fill(
    cache: VectorCache,
    embedder: Embedder,
    texts: Iterable[str],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Embed texts that the cache lacks, in the given order, and return how many.

    `progress` gets the counts of finished and missing texts. After an interrupt, all reported texts
    are in the cache. Raises `ProngError` when the model fails.
    """
    missing = {cache.key_of(text): text for text in texts}
    for key in cache.known(missing):
        del missing[key]
    embedded = 0
    for batch in _batches(missing.items(), _BATCH):
        vectors = embedder.embed([text for _, text in batch])
        cache.put({key: vector for (key, _), vector in zip(batch, vectors, strict=True)})
        embedded += len(batch)
        if progress is not None:
            progress(embedded, len(missing))
    return embedded


def _batches(things: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(things)
    while batch := list(islice(iterator, size)):
        yield batch


UNCACHED = 50
"""Maximum texts to embed during a search; `prong index` embeds the rest."""


class Meaning:
    """Semantic comparison of a query with the heads of prompts and answers."""

    def __init__(self, embedder: Embedder, vectors: VectorCache) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self._asked: tuple[str, NDArray[np.float32]] | None = None
        """The last query, and its vector."""

    def _vector(self, query: str) -> "NDArray[np.float32]":
        if self._asked is None or self._asked[0] != query:
            self._asked = (query, self._embedder.embed([query])[0])
        return self._asked[1]

    def similarities(self, query: str, units: Mapping[int, tuple[str, ...]]) -> dict[int, float]:
        """Compute, for each key, the cosine of the query and its nearest text.

        `units` must be sorted best first, because only `UNCACHED` missing texts are embedded. Keys
        without any vector are left out. Raises `ProngError` when the model fails.
        """
        keys = {text: VectorCache.key_of(text) for some in units.values() for text in some if text}
        vectors = self._vectors.get(keys.values())
        missing = [text for text, key in keys.items() if key not in vectors][:UNCACHED]
        target = self._vector(query)
        if missing:
            fresh = self._embedder.embed(missing)
            embedded = {keys[text]: vector for text, vector in zip(missing, fresh, strict=True)}
            self._vectors.put(embedded)
            vectors = {**vectors, **embedded}
        cosines: dict[int, float] = {}
        for key, some in units.items():
            near = [vectors[keys[text]] @ target for text in some if text and keys[text] in vectors]
            if near:
                cosines[key] = float(max(near))
        return cosines

    def nearest(
        self, query: str, units: Iterable[tuple[int, tuple[str, ...]]], count: int
    ) -> dict[int, float]:
        """Find the keys nearest to a query among all `units` with a vector. Raises `ProngError`."""
        near = self._vectors.nearest(self._vector(query), count)
        cosines_by_key: dict[int, float] = {}
        for key, some in units if near else ():
            cosines = [near.get(VectorCache.key_of(text), -1.0) for text in some if text]
            if (best := max(cosines, default=-1.0)) >= 0:
                cosines_by_key[key] = best
        return cosines_by_key
