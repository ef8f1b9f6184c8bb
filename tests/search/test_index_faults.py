"""Nothing is lost when many search while one writes, or when a writer is killed at any moment."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from prong import paths
from prong.search.index import SearchIndex
from prong.search.lexical import Scope
from prong.search.query_terms import words_of
from tests.samples.claude import ClaudeSample
from tests.search.lab import SearchLab

WORDS = ("griffin", "unicorn", "basilisk", "kraken", "phoenix", "wyvern")
KILLS = 50

INDEX = """
import sys, time
from prong import App
app = App()
app.search.state()  # loads all that is needed
print("ready", flush=True)
sys.stdin.readline()
start = time.monotonic()
app.search.index(vectors=False)
print(time.monotonic() - start, flush=True)
"""
SEARCH = """
import sys
from prong import App
from prong.model.search import SearchRequest
with App() as app:
    for _ in range(5):
        for word in sys.argv[1:]:
            hits = app.search.find(SearchRequest(word, fast=True)).hits
            assert len({(hit.ref, hit.turn.id) for hit in hits}) == len(hits)
"""


def started(code: str, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Herd:
    """Sessions that go on: each turn has one of the words and a number of its own."""

    def __init__(self, lab: SearchLab, count: int) -> None:
        self.lab = lab
        self.samples = [lab.sample() for _ in range(count)]
        self.paths: dict[str, Path] = {}
        self.turns: dict[str, int] = dict.fromkeys(WORDS, 0)
        self.grow(self.samples)

    def grow(self, samples: Sequence[ClaudeSample]) -> None:
        for sample in samples:
            written = len(sample.lines)
            word = WORDS[random.randrange(len(WORDS))]
            self.turns[word] += 1
            sample.prompt(f"Feed the {word} number {sum(self.turns.values())}")
            sample.answer("Fed. " + "All is well. " * 50)
            if sample.id not in self.paths:
                self.paths[sample.id] = sample.write(self.lab.home.claude)
                continue
            with self.paths[sample.id].open("a") as file:
                file.writelines(json.dumps(line) + "\n" for line in sample.lines[written:])

    def check(self) -> None:
        """Every turn is found, each once."""
        with self.lab.app() as app:
            assert app.search.index(vectors=False).complete
            state = app.search.state()
            assert state.turns == sum(self.turns.values())
        index = SearchIndex(paths.cache_dir() / "search")
        for word, count in self.turns.items():
            found = index.words.turns(words_of(word), Scope(), 100_000)
            # Nothing is there twice, and nothing is left of a killed writer.
            assert len(found) == len(index.catalogue.turns(turn.key for turn in found)) == count
        index.close()
        word = max(self.turns, key=self.turns.__getitem__)
        assert len(self.lab.find(word, by_session=True, limit=1_000).hits) > 1


@pytest.mark.timeout(600)
def test_killed_fifty_times(lab: SearchLab) -> None:
    random.seed(5)
    herd = Herd(lab, 60)
    with started(INDEX) as first:
        assert first.stdout is not None
        assert first.stdin is not None
        out, err = first.communicate("\n")
        assert first.returncode == 0, err
        seconds = float(out.split()[1])
    for number in range(KILLS):
        herd.grow(random.sample(herd.samples, 30))
        with started(INDEX) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            process.stdout.readline()
            process.stdin.write("\n")
            process.stdin.flush()
            # A random moment is what is tested: there is nothing to wait for.
            time.sleep(random.uniform(0, seconds * 0.7))
            process.send_signal(signal.SIGKILL)
        if number % 10 == 9:
            herd.check()
    herd.check()


@pytest.mark.timeout(300)
def test_twenty_search_while_one_writes_and_sessions_grow(lab: SearchLab) -> None:
    random.seed(6)
    herd = Herd(lab, 40)
    searching = [started(SEARCH, *WORDS) for _ in range(20)]
    while any(process.poll() is None for process in searching):
        herd.grow(random.sample(herd.samples, 10))
        with lab.app() as app:
            app.search.index(vectors=False)
    for process in searching:
        _, err = process.communicate()
        assert process.returncode == 0, err
    herd.check()
