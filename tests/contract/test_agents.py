"""One suite over all agents: the built-in ones, and a plug-in as an outsider would write it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from prong.agents.base import AgentStore
from prong.plugins import BUILT_IN, Registry
from prong.testing.contract import AgentStoreContract, TextsContract
from prong.testing.fork_contract import ForkContract

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


class TestBuiltIn(AgentStoreContract):
    @pytest.fixture(params=BUILT_IN)
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> AgentStore:
        store = Registry().make(request.param, [tmp_path / "root"])
        store.write_samples(str(tmp_path / "project"), NOON)
        return store


class TestTexts(TextsContract):
    @pytest.fixture(params=BUILT_IN)
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> AgentStore:
        store = Registry().make(request.param, [tmp_path / "root"])
        store.write_samples(str(tmp_path / "project"), NOON)
        return store


class TestForks(ForkContract):
    @pytest.fixture(params=BUILT_IN)
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> AgentStore:
        store = Registry().make(request.param, [tmp_path / "root"])
        store.write_samples(str(tmp_path / "project"), NOON)
        return store
