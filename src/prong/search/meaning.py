"""How near turns are to a query in meaning, by the sentence model and the vectors it has made."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from prong.search.embedder import Embedder
from prong.search.vectors import VectorCache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNCACHED = 50
"""How many texts may be read while somebody waits; `prong index` reads the others."""


class Meaning:
    """Compares a query with the heads of prompts and answers."""

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
        """For each key the cosine of the query and the nearest of its texts.

        `units` has the best first: of the texts without a vector, only so many are read. A key
        without any vector is left out. Raises `ProngError` when the model does not work.
        """
        texts = {text: VectorCache.key_of(text) for some in units.values() for text in some if text}
        known = self._vectors.get(texts.values())
        missing = [text for text, key in texts.items() if key not in known][:UNCACHED]
        asked = self._vector(query)
        if missing:
            fresh = self._embedder.embed(missing)
            made = {texts[text]: vector for text, vector in zip(missing, fresh, strict=True)}
            self._vectors.put(made)
            known = {**known, **made}
        found: dict[int, float] = {}
        for key, some in units.items():
            near = [known[texts[text]] @ asked for text in some if text and texts[text] in known]
            if near:
                found[key] = float(max(near))
        return found

    def nearest(
        self, query: str, units: Iterable[tuple[int, tuple[str, ...]]], count: int
    ) -> dict[int, float]:
        """Among all texts that have a vector, those that are nearest to the query.

        `units` are all keys with their texts. Raises `ProngError` when the model does not work.
        """
        near = self._vectors.nearest(self._vector(query), count)
        found: dict[int, float] = {}
        for key, some in units if near else ():
            cosines = [near.get(VectorCache.key_of(text), -1.0) for text in some if text]
            if (best := max(cosines, default=-1.0)) >= 0:
                found[key] = best
        return found
