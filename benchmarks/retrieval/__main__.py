"""How well prong finds what it should, beside plain BM25 and with each part left out.

python -m benchmarks.retrieval                      the shared corpus, the half that is reported
python -m benchmarks.retrieval --half a             the half that weights are chosen on
python -m benchmarks.retrieval --home DIR --qrels FILE [--paraphrases FILE]
"""

import argparse
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

from benchmarks.retrieval.figures import Figures, figures, interval, means
from benchmarks.retrieval.homes import unpack, without_titles
from benchmarks.retrieval.queries import TITLE, Asked, halves, read
from benchmarks.retrieval.systems import FAST, PRONG, VARIANTS, Prong, Search, plain_bm25

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
BASELINE = "plain BM25 of sessions"
Results = Mapping[str, Figures]
"""By the id of the query."""


class Bench:
    """A home with its queries; titles are asked for in a copy that has none."""

    def __init__(self, home: Path, asked: Sequence[Asked], scratch: Path) -> None:
        self.asked = asked
        self._parts: list[tuple[list[Asked], Prong, Search]] = []
        titles = [one for one in asked if one.kind == TITLE]
        others = [one for one in asked if one.kind != TITLE]
        if others:
            self._add(home, others, scratch / "cache")
        if titles:
            bare = without_titles(home, scratch / "bare")
            self._add(bare, titles, scratch / "bare-cache")

    def _add(self, home: Path, asked: list[Asked], cache: Path) -> None:
        os.environ["XDG_CACHE_HOME"] = str(cache)
        prong = Prong(home)
        prong.app.search.index()
        self._parts.append((asked, prong, plain_bm25(home)))

    def baseline(self) -> dict[str, Figures]:
        return {
            one.id: figures(search(one.text), one.files)
            for asked, _, search in self._parts
            for one in asked
        }

    def prong(self, ask: Callable[[Prong, str], list[str]]) -> dict[str, list[str]]:
        return {one.id: ask(prong, one.text) for asked, prong, _ in self._parts for one in asked}

    def scored(self, rankings: Mapping[str, list[str]]) -> dict[str, Figures]:
        return {one.id: figures(rankings[one.id], one.files) for one in self.asked}

    def shuffled(self, rankings: Mapping[str, list[str]]) -> dict[str, Figures]:
        """The same lists, judged by the answers of a query of another family."""
        draw = random.Random(1)
        worth: dict[str, Figures] = {}
        for one in self.asked:
            others = [other for other in self.asked if other.family != one.family]
            worth[one.id] = figures(rankings[one.id], draw.choice(others).files)
        return worth


def _kinds(asked: Sequence[Asked]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for one in asked:
        kinds.setdefault(one.kind, []).append(one.id)
        if one.verbatim is False and any(two.verbatim for two in asked if two.kind == one.kind):
            kinds.setdefault(f"{one.kind}, not verbatim in the session", []).append(one.id)
    return kinds


def _print_kind(kind: str, ids: Sequence[str], systems: Mapping[str, Results]) -> None:
    print(f"\n### {kind} (n = {len(ids)})\n")
    print("| | R@1 | R@5 | R@10 | MRR | nDCG@10 | beside plain BM25 |")
    print("|---|---|---|---|---|---|---|")
    base = systems[BASELINE]
    for name, results in systems.items():
        chosen = [results[one] for one in ids]
        mean = means(chosen)
        low, high = interval([one.ndcg for one in chosen])
        beside = [results[one].ndcg - base[one].ndcg for one in ids]
        least, most = interval(beside)
        difference = f"{sum(beside) / len(beside):+.3f} [{least:+.3f}, {most:+.3f}]"
        cells = [f"{value:.3f}" for value in mean[:4]]
        cells += [f"{mean.ndcg:.3f} [{low:.3f}, {high:.3f}]"]
        cells += ["" if name == BASELINE else difference]
        print(f"| {name} | {' | '.join(cells)} |")


def _timed(bench: Bench, ask: Callable[[Prong, str], list[str]]) -> tuple[float, float]:
    """Median and 95th percentile of a search in a running process, in milliseconds."""
    taken: list[float] = []

    def once(prong: Prong, text: str) -> list[str]:
        began = time.perf_counter()
        found = ask(prong, text)
        taken.append(1000 * (time.perf_counter() - began))
        return found

    bench.prong(once)
    cuts = quantiles(taken, n=20)
    return cuts[9], cuts[18]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--home", type=Path, help="where .claude and .codex are")
    parser.add_argument("--qrels", type=Path)
    parser.add_argument("--paraphrases", type=Path)
    parser.add_argument("--half", choices=("a", "b", "all"), default="b")
    options = parser.parse_args()
    if (options.home is None) != (options.qrels is None):
        parser.error("--home and --qrels go together")
    with TemporaryDirectory(prefix="prong-retrieval-") as folder:
        scratch = Path(folder)
        for name in ("CONFIG", "STATE", "DATA"):
            os.environ[f"XDG_{name}_HOME"] = str(scratch / name)
        home, qrels, paraphrases = options.home, options.qrels, options.paraphrases
        if home is None:
            unpacked = unpack(CORPUS / "retrieval.tar.xz", scratch)
            home, qrels = unpacked / "home", unpacked / "qrels.tsv"
            paraphrases = CORPUS / "paraphrase.tsv"
        asked = read(qrels, paraphrases)
        first, second = halves(asked)
        chosen = {"a": first, "b": second, "all": asked}[options.half]
        _report(Bench(home.resolve(), chosen, scratch), options.half)


def _report(bench: Bench, half: str) -> None:
    systems: dict[str, Results] = {BASELINE: bench.baseline()}
    lists: dict[str, dict[str, list[str]]] = {}
    for variant in VARIANTS:
        lists[variant.name] = bench.prong(lambda prong, text, way=variant: prong.search(text, way))
        systems[variant.name] = bench.scored(lists[variant.name])
    systems["control: answers of other queries"] = bench.shuffled(lists[PRONG.name])
    print(f"half {half}, {len(bench.asked)} queries")
    for kind, ids in _kinds(bench.asked).items():
        _print_kind(kind, ids, systems)
    print("\n### Time of a search, index and vectors there (ms)\n")
    print("| | median | 95 % |")
    print("|---|---|---|")
    for variant in (PRONG, FAST):
        median, most = _timed(bench, lambda prong, text, way=variant: prong.search(text, way))
        print(f"| {variant.name} | {median:.0f} | {most:.0f} |")


if __name__ == "__main__":
    main()
