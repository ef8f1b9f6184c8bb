"""The words of every real session of the shared corpus are those of its messages."""

from pathlib import Path

import pytest

from prong.agents.base import AgentStore
from prong.search.index import SearchIndex
from prong.search.indexing import plain_texts
from prong.search.lexical import Scope
from prong.search.query_terms import words_of
from prong.storage.scan_cache import NoCache
from prong.testing.contract import TextCollector, check_words
from tests.corpus import corpus
from tests.corpus.corpus import Expected

pytestmark = pytest.mark.corpus

FORMATS = [one for one in corpus.expected() if one.file.startswith("formats/")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not corpus.corpus_folder().is_dir():
        pytest.skip("the shared corpus is not beside the project; PRONG_CORPUS names its folder")
    target = tmp_path_factory.mktemp("corpus")
    corpus.unpack(target)
    return target


@pytest.mark.parametrize("expected", FORMATS, ids=lambda one: one.file)
def test_formats(expected: Expected, folder: Path) -> None:
    path = folder / expected.file
    store, conversation = corpus.read(path, folder)
    texts = store.file_texts(str(path))
    assert texts is not None
    told = {turn.id: turn for turn in texts.turns}
    if told:
        # All but sub-agents, which are no sessions of their own.
        for turn in plain_texts(store, conversation.session).turns:
            check_words(told.pop(turn.id), turn)
    assert told == {}


def test_all_of_it_can_be_indexed(folder: Path, tmp_path: Path) -> None:
    index = SearchIndex(tmp_path / "search")
    with index.writing() as update:
        assert update is not None
        for expected in FORMATS:
            path = folder / expected.file
            store, _ = corpus.read(path, folder)
            texts = store.file_texts(str(path))
            assert texts is not None
            update.add(store.name, texts, None)
    files = list(index.catalogue.files())
    assert len(files) == len(FORMATS)
    found = index.words.turns(words_of("the file test error fix"), Scope(), 10_000)
    assert len(index.catalogue.turns(turn.key for turn in found)) == len(found) > 100
    index.close()


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_whole_stores(agent: str, folder: Path) -> None:
    store = _store(agent, folder)
    sink = TextCollector()
    scan = store.scan_texts(NoCache(), sink)
    assert scan == store.scan(NoCache())
    for session in scan.sessions:
        told = sink.turns(session)
        for turn in plain_texts(store, session).turns:
            if turn.id in told:
                check_words(told[turn.id], turn)
            else:
                assert (turn.index or 0) in range(1, session.inherited + 1)


def _store(agent: str, folder: Path) -> AgentStore:
    return next(store for store in corpus.stores(folder) if store.name == agent)
