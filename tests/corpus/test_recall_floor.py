"""Searches on the shared corpus find at least what they found when this was written.

These are floors, not results: all queries of both halves, those that weights were chosen on as
well. The results are in docs/internals/search-quality.md.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.retrieval.figures import figures, means
from benchmarks.retrieval.homes import unpack
from benchmarks.retrieval.queries import PARAPHRASE, TITLE, Asked, read
from benchmarks.retrieval.systems import FAST, PRONG, Prong, Variant
from tests.corpus import corpus

pytestmark = pytest.mark.corpus

FLOORS = {PARAPHRASE: 0.36, "entire-intent": 0.95, "commit-subject": 0.76}
"""nDCG@10 by words alone, for each kind."""
SAMPLE = 12
"""How many paraphrases the model is tried on: it reads some 40 texts a second."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not corpus.corpus_folder().is_dir():
        pytest.skip("the shared corpus is not beside the project; PRONG_CORPUS names its folder")
    target = tmp_path_factory.mktemp("retrieval")
    return unpack(corpus.corpus_folder() / "retrieval.tar.xz", target)


@pytest.fixture(scope="module")
def asked(unpacked: Path) -> list[Asked]:
    # A title is found by the title: that says nothing here.
    both = read(unpacked / "qrels.tsv", corpus.corpus_folder() / "paraphrase.tsv")
    return [one for one in both if one.kind != TITLE]


@pytest.fixture(scope="module")
def prong(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prong]:
    own = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(own))
        for name in ("CACHE", "CONFIG", "STATE", "DATA"):
            patch.setenv(f"XDG_{name}_HOME", str(own / name))
        search = Prong(unpacked / "home")
        search.app.search.index(vectors=False)
        yield search
        search.app.close()


def worth(prong: Prong, asked: list[Asked], variant: Variant) -> float:
    found = [figures(prong.search(one.text, variant), one.files) for one in asked]
    return means(found).ndcg


@pytest.mark.parametrize("kind", FLOORS)
def test_words_find(kind: str, prong: Prong, asked: list[Asked]) -> None:
    assert worth(prong, [one for one in asked if one.kind == kind], FAST) >= FLOORS[kind]


def test_the_model_finds_more_of_what_is_said_in_other_words(
    prong: Prong, asked: list[Asked]
) -> None:
    vague = [one for one in asked if one.kind == PARAPHRASE]
    sample = vague[:: len(vague) // SAMPLE][:SAMPLE]
    assert worth(prong, sample, PRONG) > worth(prong, sample, FAST)
