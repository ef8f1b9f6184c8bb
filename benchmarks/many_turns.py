"""An index of very many turns, and how long a query takes in it.

    python -m benchmarks.many_turns FOLDER [--turns 200000] [--queries 500]

The text is made up, but its words are as frequent as those of a language: the second is half as
frequent as the first, the hundredth a hundredth. The most frequent ones are the English stop words.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from prong.model.search import SearchRequest
from prong.model.turn_text import FileTexts, Stamp, TurnText
from prong.search.analyzers import STOP_WORDS
from prong.search.builtin import BuiltIn, SearchScope, Standing
from prong.search.index import SearchIndex

_WORDS = 50_000
_STREAM = 1_000_000
"""So many words are drawn; texts are pieces of them."""
_PER_SESSION = 10
_PROMPT, _ANSWER, _OUTPUT = 40, 120, 120
"""Words of a turn."""
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwz", "aeiou"


class _Text:
    """Pieces of a long text."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        words = _vocabulary()
        weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
        self._stream = self.rng.choices(words, cum_weights=weights, k=_STREAM)

    def piece(self, count: int) -> list[str]:
        start = self.rng.randrange(_STREAM - count)
        return self._stream[start : start + count]

    def some(self, middle: int) -> str:
        """About so many words."""
        count = int(middle * self.rng.lognormvariate(0, 0.7)) + 1
        return " ".join(self.piece(min(count, 20 * middle)))

    def query(self) -> str:
        """A few words on end, of which two or more say something."""
        while True:
            words = self.piece(self.rng.randint(3, 9))
            if len(set(words) - STOP_WORDS) > 1:
                return " ".join(words)


def _vocabulary() -> list[str]:
    rng = random.Random(0)
    syllables = [consonant + vowel for consonant in _CONSONANTS for vowel in _VOWELS]
    made = ("".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(2 * _WORDS))
    return [*sorted(STOP_WORDS), *dict.fromkeys(made)][:_WORDS]


def build(folder: Path, turns: int, seed: int = 1) -> SearchIndex:
    """An index of so many turns, as `prong index` would have made it."""
    index = SearchIndex(folder)
    text = _Text(seed)
    with index.writing() as update:
        assert update is not None
        for number in range(turns // _PER_SESSION):
            said = list(_turns(text, number))
            path = f"/sessions/{number}.jsonl"
            update.add("claude", FileTexts(path, Stamp(1, number, number), str(number), said), None)
    index.words.reload()
    return index


def _turns(text: _Text, session: int) -> Iterator[TurnText]:
    for number in range(1, _PER_SESSION + 1):
        answer = text.some(_ANSWER)
        yield TurnText(
            id=f"{session}-{number}",
            index=number,
            kind="human",
            started="2026-01-01T00:00:00Z",
            prompt=text.some(_PROMPT),
            answer=answer,
            last_answer=answer,
            files=(f"/src/{text.piece(1)[0]}.py",),
            commands=(" ".join(text.piece(4)),),
            output=text.some(_OUTPUT),
        )


@dataclass(frozen=True)
class Latency:
    """Seconds of queries."""

    turns: int
    size: int
    """Bytes of the index."""
    cpu_p50: float
    cpu_p95: float
    wall_p50: float
    wall_p95: float


def measure(index: SearchIndex, queries: int, seed: int = 2) -> Latency:
    """Ask so many different questions, after a few that do not count."""
    text = _Text(seed)
    asked = [text.query() for _ in range(queries)]
    engine = BuiltIn(index, SearchScope(Standing))
    for query in asked[:20]:
        engine.search(SearchRequest(query, fast=True))
    cpu: list[float] = []
    wall: list[float] = []
    for query in asked:
        began, used = time.perf_counter(), time.process_time()
        engine.search(SearchRequest(query, fast=True))
        cpu.append(time.process_time() - used)
        wall.append(time.perf_counter() - began)
    _, turns = index.catalogue.counts()
    return Latency(turns, index.size, *_middle_and_high(cpu), *_middle_and_high(wall))


def _middle_and_high(seconds: list[float]) -> tuple[float, float]:
    ordered = sorted(seconds)
    return ordered[len(ordered) // 2], ordered[len(ordered) * 95 // 100]


def main() -> None:
    """Make the index where there is none, ask, print one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--turns", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=500)
    options = parser.parse_args()
    known = options.folder.exists()
    index = SearchIndex(options.folder) if known else build(options.folder, options.turns)
    index.words.reload()
    print(json.dumps(vars(measure(index, options.queries))))


if __name__ == "__main__":
    main()
