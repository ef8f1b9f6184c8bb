"""A scan that changed nothing is answered from the result of the last one, and only then."""

from pathlib import Path
from typing import BinaryIO

import pytest

from prong.agents import jsonl
from prong.agents.codex.store import CodexStore
from prong.model.sessions import Scan
from prong.storage.scan_cache import SqliteScanCache
from tests.unit.agents.stores import Claude, Codex, uuid


@pytest.fixture
def cache(tmp_path: Path) -> SqliteScanCache:
    return SqliteScanCache(tmp_path / "cache.db")


def write(claude: Claude, number: int, *prompts: str) -> Path:
    sample = claude.new(number)
    for prompt in prompts:
        sample.prompt(prompt)
        sample.answer("done")
    return claude.write(uuid(number), sample.lines)


def scanned(claude: Claude, cache: SqliteScanCache) -> Scan:
    scan = claude.store.scan(cache)
    cache.save("claude", scan)
    return scan


def test_the_same_sessions_and_skipped_files(claude: Claude, cache: SqliteScanCache) -> None:
    write(claude, 1, "one", "two")
    claude.write(uuid(2), [{"type": "custom-title", "customTitle": "only a title"}])
    first = scanned(claude, cache)
    second = scanned(claude, cache)
    assert first.result
    assert second.result is None
    assert (second.sessions, second.skipped) == (first.sessions, first.skipped)


def test_a_new_a_changed_and_a_removed_file_count(claude: Claude, cache: SqliteScanCache) -> None:
    path = write(claude, 1, "one")
    scanned(claude, cache)
    write(claude, 2, "two")
    assert len(scanned(claude, cache).sessions) == 2
    write(claude, 2, "two", "three")
    assert {s.turn_count for s in scanned(claude, cache).sessions} == {1, 2}
    path.unlink()
    assert [s.id for s in scanned(claude, cache).sessions] == [uuid(2)]


def test_the_result_of_a_scan_that_came_too_late(claude: Claude, cache: SqliteScanCache) -> None:
    """Two processes scan: the one that looked first saves last."""
    write(claude, 1, "one")
    early = claude.store.scan(cache)
    write(claude, 1, "one", "two")
    scanned(claude, cache)
    cache.save("claude", early)
    assert [session.turn_count for session in scanned(claude, cache).sessions] == [2]


def test_a_file_that_could_not_be_read_is_tried_again(
    claude: Claude, cache: SqliteScanCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(claude, 1, "one")

    def refuse(_: Path) -> BinaryIO:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(jsonl, "open_file", refuse)
    refused = scanned(claude, cache)
    assert (refused.sessions, refused.result) == ((), None)
    monkeypatch.undo()
    assert len(scanned(claude, cache).sessions) == 1


def test_a_new_name_of_a_thread_counts(codex: Codex, cache: SqliteScanCache) -> None:
    sample = codex.new(1)
    sample.turn("one", "1")
    path = codex.write(uuid(1), sample.lines)
    before = path.stat()
    store = CodexStore([codex.root])
    cache.save("codex", store.scan(cache))
    index = codex.root / "session_index.jsonl"
    index.write_text(f'{{"id":"{uuid(1)}","thread_name":"named"}}\n', encoding="utf-8")
    assert path.stat() == before
    assert [session.title for session in store.scan(cache).sessions] == ["named"]
