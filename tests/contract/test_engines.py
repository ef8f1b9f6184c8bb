"""One suite over all engines. The real qmd passes it in tests/e2e."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prong.plugins import Registry
from prong.search.builtin import BuiltIn, SearchScope, Standing
from prong.search.index import SearchIndex
from prong.search.indexing import Indexing
from prong.search.service import SearchEngine
from prong.testing.contract import MemoryCache
from tests.contract.engine_contract import SearchEngineContract
from tests.unit.search.stand_in import ROW, StandIn


class TestBuiltIn(SearchEngineContract):
    @pytest.fixture
    def engine(self, tmp_path: Path) -> Iterator[SearchEngine]:
        store = Registry().make("claude", [tmp_path / "root"])
        store.write_samples(str(tmp_path / "project"), datetime(2026, 11, 15, 12, tzinfo=UTC))
        index = SearchIndex(tmp_path / "index")
        Indexing(index, {store.name: store}, MemoryCache()).refresh()
        yield BuiltIn(index, SearchScope(Standing))
        index.close()

    @pytest.fixture
    def text(self) -> str:
        return "rate limiting"


class TestQmd(SearchEngineContract):
    @pytest.fixture
    def engine(self, tmp_path: Path) -> SearchEngine:
        qmd = StandIn(tmp_path)
        rows = qmd.bin / "rows"
        worse = {**ROW, "file": "qmd://claude-sessions/other.md", "score": 0.2}
        rows.write_text(json.dumps([worse, ROW]))
        qmd.does("search", f'case "$*" in *bucket*) cat {rows};; *) echo "[]";; esac')
        return qmd.engine()

    @pytest.fixture
    def text(self) -> str:
        return "a token bucket"


class TestQmdWithModels(TestQmd):
    @pytest.fixture
    def engine(self, tmp_path: Path) -> SearchEngine:
        qmd = StandIn(tmp_path)
        qmd.add_model()
        rows = qmd.bin / "rows"
        rows.write_text(json.dumps([ROW]))
        qmd.does("query", f'case "$*" in *bucket*) cat {rows};; *) echo "[]";; esac')
        qmd.prints("vsearch", "[]")
        qmd.prints("search", "[]")
        return qmd.engine()
