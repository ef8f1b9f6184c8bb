from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prong.agents import jsonl, scan
from prong.storage.scan_cache import SqliteScanCache
from prong.testing.home import IsolatedHome
from tests.unit.agents.scans import Case, CountedFile, Opened, claude_lines, codex_lines
from tests.unit.agents.stores import Claude, Codex


@pytest.fixture(autouse=True)
def _home(isolated_home: IsolatedHome) -> None:
    pass


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(tmp_path / "claude")


@pytest.fixture
def codex(tmp_path: Path) -> Codex:
    return Codex(tmp_path / "codex")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    count = Opened()
    real = jsonl.open_file

    def open_file(path: Path) -> Any:
        count.paths.append(path)
        return CountedFile(real(path), count)

    monkeypatch.setattr(jsonl, "open_file", open_file)
    return count


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[SqliteScanCache]:
    cache = SqliteScanCache(tmp_path / "cache" / "cache.db")
    yield cache
    cache.close()


@pytest.fixture(params=["claude", "codex"])
def case(request: pytest.FixtureRequest, claude: Claude, codex: Codex) -> Case:
    if request.param == "claude":
        return Case(claude, claude_lines)
    return Case(codex, codex_lines)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "CONTINUED_FROM", 100)
