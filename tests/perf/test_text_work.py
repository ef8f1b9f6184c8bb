"""How much work it is to listen to a scan, counted."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.store import StoreManifest, write_store
from prong.agents import jsonl, scan, words
from prong.agents.base import AgentStore
from prong.plugins import BUILT_IN, Registry
from prong.storage.scan_cache import NoCache
from prong.testing.contract import MemoryCache, TextCollector
from tests.perf.test_work import opened_below

pytestmark = pytest.mark.perf


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> StoreManifest:
    return write_store(tmp_path_factory.mktemp("store"), sessions=40, megabytes=2)


@pytest.fixture(params=BUILT_IN)
def root(request: pytest.FixtureRequest, manifest: StoreManifest) -> Path:
    return Path(manifest.root) / request.param


@pytest.fixture
def store(root: Path) -> AgentStore:
    return Registry().make(root.name, [root])


def listen(store: AgentStore, cache: Any, sink: TextCollector) -> list[str]:
    """Scan; the files that were opened, without the list of names."""
    with opened_below(*store.roots) as opened:
        cache.save(store.name, store.scan_texts(cache, sink))
    return [path for path in opened if not path.endswith(("session_index.jsonl", ".meta.json"))]


def test_each_file_is_opened_once(store: AgentStore, manifest: StoreManifest) -> None:
    sink = TextCollector()
    opened = listen(store, MemoryCache(), sink)
    assert len(opened) == len(set(opened))
    agents = {path for path in opened if Path(path).name.startswith("agent-")}
    assert set(opened) - agents == set(sink.files)
    sent = sum(one.subagents for one in manifest.sessions if one.agent == store.name)
    aside = [turn for file in sink.files.values() for turn in file.turns if turn.aside]
    assert bool(aside) == bool(sent)


def test_when_nothing_changed_nothing_is_opened(store: AgentStore) -> None:
    cache, sink = MemoryCache(), TextCollector()
    listen(store, cache, sink)
    taken = list(sink.taken)
    assert listen(store, cache, sink) == []
    assert sink.taken == taken


def test_one_changed_file_is_one_file_opened(store: AgentStore, manifest: StoreManifest) -> None:
    cache, sink = MemoryCache(), TextCollector()
    listen(store, cache, sink)
    alone = [
        one.path
        for one in manifest.sessions
        if one.agent == store.name and not one.subagents and not one.parent and not one.abandoned
    ]
    path = Path(alone[0])
    sink.taken.clear()
    with path.open("ab") as file:
        file.write(b'{"type":"mode","mode":"normal"}\n')
    assert listen(store, cache, sink) == [str(path)]
    assert sink.taken == [str(path)]


def test_the_newest_file_comes_first(store: AgentStore) -> None:
    with opened_below(*store.roots) as opened:
        store.scan(NoCache())
    files = [Path(path) for path in opened if not path.endswith("session_index.jsonl")]
    times = [file.stat().st_mtime_ns for file in files]
    assert times == sorted(times, reverse=True)


def test_no_line_is_parsed_twice(store: AgentStore, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"scan": 0, "listen": 0}
    records = jsonl.Reader[Any].records
    mode = "scan"

    def counted(self: jsonl.Reader[Any], *args: Any, **options: Any) -> Any:
        for record in records(self, *args, **options):
            counts[mode] += 1
            yield record

    monkeypatch.setattr(jsonl.Reader, "records", counted)
    store.scan(NoCache())
    mode = "listen"
    sink = TextCollector()
    opened = listen(store, MemoryCache(), sink)
    agents = [Path(path) for path in opened if path not in sink.files]
    assert counts["listen"] == counts["scan"] + sum(p.read_bytes().count(b"\n") for p in agents)


def test_a_large_file_that_grew_is_heard_whole(
    store: AgentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "CONTINUED_FROM", 1000)
    cache, sink = MemoryCache(), TextCollector()
    listen(store, cache, sink)
    path = max(sink.files, key=lambda path: sink.files[path].stamp.size)
    before = [turn.answer for turn in sink.files[path].turns]
    with Path(path).open("ab") as file:
        file.write(b'{"type":"mode","mode":"normal"}\n')
    listen(store, cache, sink)
    assert [turn.answer for turn in sink.files[path].turns] == before


def test_of_a_long_result_only_the_ends_are_decoded() -> None:
    raw = msgspec.Raw(b'"' + b"word " * 1_000_000 + b'"')
    assert sum(map(len, words.cut_pieces(raw))) <= 2 * words.RESULT_END
