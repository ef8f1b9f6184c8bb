"""How much work a search is, counted: files opened, texts that the model reads, modules."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from benchmarks.store import StoreManifest, write_store
from prong.app import App
from prong.model.code import DiffStat, TurnKey
from prong.model.search import SearchRequest
from prong.search.embedder import Embedder
from prong.search.lexical import Lexical, LexicalWriter
from prong.storage.snapshots import SnapshotRecords
from prong.testing.home import IsolatedHome
from tests.perf.test_state_work import snapshot
from tests.perf.test_work import opened_below
from tests.samples.claude import ClaudeSample

pytestmark = pytest.mark.perf

WORDS = "refactor the parser"
ASKED, PRINTED = "quokka", "wombat"
"""Words that stand only in the samples: in their prompts, and in what a tool printed."""
SAMPLES = 6
HEAVY = {"numpy", "onnxruntime", "tokenizers"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(
    root: Path, isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch
) -> StoreManifest:
    manifest = write_store(root, sessions=40, megabytes=2)
    for name, value in manifest.environment.items():
        monkeypatch.setenv(name, value)
    for number in range(SAMPLES):
        sample = ClaudeSample(str(UUID(int=number)), "/code", datetime(2026, 5, 1, tzinfo=UTC))
        sample.prompt(f"feed the {ASKED} number {number}")
        sample.tools(("Bash", {"command": "feed"}, f"a {PRINTED} came instead"))
        sample.answer(f"It has eaten {number} leaves.")
        sample.write(root / "claude")
    return manifest


@pytest.fixture
def app(store: StoreManifest) -> Iterator[App]:
    """One that has indexed the words of everything, and has been closed and opened since."""
    with closing(App(needs_programs=False)) as first:
        first.search.index(vectors=False)
    with closing(App(needs_programs=False)) as app:
        yield app


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch) -> list[LexicalWriter]:
    """The writers of the index of words that are opened."""
    opened: list[LexicalWriter] = []
    writer = Lexical.writer

    def counted(self: Lexical) -> LexicalWriter:
        opened.append(writer(self))
        return opened[-1]

    monkeypatch.setattr(Lexical, "writer", counted)
    return opened


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the model reads."""
    texts: list[str] = []
    embed = Embedder.embed

    def counted(self: Embedder, some: Sequence[str]) -> Any:
        texts.extend(some)
        return embed(self, some)

    monkeypatch.setattr(Embedder, "embed", counted)
    return texts


def sessions_in(opened: Sequence[str]) -> list[str]:
    return [path for path in opened if not path.endswith("session_index.jsonl")]


def test_when_nothing_changed_a_search_opens_no_session_and_writes_nothing(
    root: Path, app: App, writers: list[LexicalWriter]
) -> None:
    with opened_below(root) as opened:
        result = app.search.find(SearchRequest(ASKED, fast=True))
    assert len(result.hits) == SAMPLES
    assert (sessions_in(opened), writers) == ([], [])


def test_a_search_costs_the_same_with_many_snapshots(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks state.db for the turns that it found, not for all that there are."""
    steps: list[int] = []
    real: Any = sqlite3.connect

    def counting(path: str, *words: object, **names: object) -> sqlite3.Connection:
        opened = real(path, *words, **names)
        if "state.db" in str(path):
            opened.set_progress_handler(lambda: steps.append(1), 1)
        return opened

    def steps_of_a_search() -> int:
        assert len(app.search.find(SearchRequest(ASKED, fast=True)).hits) == SAMPLES
        steps.clear()
        app.search.find(SearchRequest(ASKED, fast=True))
        return len(steps)

    monkeypatch.setattr(sqlite3, "connect", counting)
    records = SnapshotRecords(app.database)
    records.add(*map(snapshot, range(7)))
    few = steps_of_a_search()
    records.add(*map(snapshot, range(7, 5000)))
    assert 0 < steps_of_a_search() <= 2 * few


def test_nor_does_an_index_of_what_is_indexed(
    root: Path, app: App, writers: list[LexicalWriter]
) -> None:
    with opened_below(root) as opened:
        app.search.index(vectors=False)
    assert (sessions_in(opened), writers) == ([], [])


def test_of_many_sessions_only_the_one_that_changed_is_read(
    root: Path, app: App, writers: list[LexicalWriter]
) -> None:
    hit = app.search.find(SearchRequest(ASKED, fast=True)).hits[0]
    assert hit.session
    with hit.session.path.open("ab") as file:
        file.write(b'{"type":"mode","mode":"normal"}\n')
    with opened_below(root) as opened:
        result = app.search.find(SearchRequest(ASKED, fast=True))
    assert sessions_in(opened) == [hit.session.file]
    assert len(writers) == 1
    assert result.index.complete


def test_a_first_search_opens_each_session_once(root: Path, store: StoreManifest) -> None:
    with closing(App(needs_programs=False)) as app, opened_below(root) as opened:
        result = app.search.find(SearchRequest(ASKED, fast=True))
    assert result.index.sessions == len(store.sessions) + SAMPLES
    assert len(opened) == len(set(opened))


def test_a_first_index_is_committed_once_for_all_agents(
    store: StoreManifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits: list[LexicalWriter] = []
    commit = LexicalWriter.commit

    def counted(self: LexicalWriter) -> None:
        commits.append(self)
        commit(self)

    monkeypatch.setattr(LexicalWriter, "commit", counted)
    with closing(App(needs_programs=False)) as app:
        state = app.search.index(vectors=False)
    assert (state.sessions, state.behind) == (len(store.sessions) + SAMPLES, 0)
    assert len(commits) == 1


@pytest.mark.parametrize("limit", [1, 4])
def test_for_the_passages_no_session_is_opened(limit: int, root: Path, app: App) -> None:
    """The words are where no head shows them."""
    with opened_below(root) as opened:
        result = app.search.find(SearchRequest(PRINTED, fast=True, limit=limit))
    assert len(result.hits) == limit < result.total
    assert all(PRINTED in hit.passage.text for hit in result.hits)
    assert sessions_in(opened) == []


@pytest.mark.parametrize("live", [True, False])
def test_for_the_code_of_hits_one_git_is_started_and_no_session_is_opened(
    root: Path, app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, live: bool
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    git(code, "init", "--quiet")
    trees = [tree(code, text) for text in ("one\n", "one\ntwo\n")]
    hits = app.search.find(SearchRequest(ASKED, fast=True)).hits
    records = SnapshotRecords(app.database)
    for number, hit in enumerate(hits):
        assert hit.turn
        assert hit.ref
        for id_, of_tree in zip((TurnKey.BASELINE, hit.turn.id), trees, strict=True):
            made = snapshot(number)._replace(repo=code, tree=of_tree, session=hit.ref.id)
            records.add(made._replace(turn_id=id_))
    started: list[object] = []
    start: Any = subprocess.Popen.__init__

    def counted(self: object, *words: Any, **names: Any) -> None:
        started.append(words)
        start(self, *words, **names)

    monkeypatch.setattr(subprocess.Popen, "__init__", counted)
    with opened_below(root) as opened:
        found = app.search.find(SearchRequest(ASKED, fast=True, live=live)).hits
    assert sessions_in(opened) == []
    assert all(hit.turn and hit.turn.snapshot for hit in found)
    assert {hit.turn.changes for hit in found if hit.turn} == {DiffStat(1, 1, 0)}
    assert len(started) == 1 < len(found) == SAMPLES


def git(folder: Path, *words: str, given: str = "") -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(
        command, input=given, capture_output=True, text=True, check=True
    ).stdout.strip()


def tree(folder: Path, text: str) -> str:
    """A tree with one file."""
    blob = git(folder, "hash-object", "-w", "--stdin", given=text)
    return git(folder, "mktree", given=f"100644 blob {blob}\ta.txt\n")


def test_a_second_search_for_the_same_has_the_model_read_the_query_alone(
    app: App, embedded: list[str]
) -> None:
    first = app.search.find(SearchRequest(WORDS, limit=5, agent="codex"))
    assert len(embedded) > 1
    embedded.clear()
    app.search.find(SearchRequest(WORDS, limit=5, agent="codex"))
    embedded.clear()
    again = app.search.find(SearchRequest(WORDS, limit=5, agent="codex"))
    assert embedded == [WORDS]
    assert len(again.hits) == len(first.hits)


def test_a_fast_search_has_the_model_read_nothing(app: App, embedded: list[str]) -> None:
    assert app.search.find(SearchRequest(WORDS, fast=True)).hits
    assert embedded == []


def test_a_fast_search_does_not_load_what_the_model_needs(
    app: App, isolated_home: IsolatedHome, store: StoreManifest
) -> None:
    loaded = _loaded(isolated_home, store, "find", "--fast", WORDS)
    assert "tantivy" in loaded
    assert not loaded & HEAVY


def test_nor_does_an_index_without_vectors(
    isolated_home: IsolatedHome, store: StoreManifest
) -> None:
    assert not _loaded(isolated_home, store, "index", "--no-vectors") & HEAVY


def test_a_search_in_what_did_not_change_loads_nothing_to_read_it_with(
    store: StoreManifest, isolated_home: IsolatedHome
) -> None:
    _loaded(isolated_home, store, "index", "--no-vectors")
    modules = _loaded(isolated_home, store, "find", "--fast", ASKED)
    # Types are made without generated code, and what goes wrong is told by nobody.
    assert not modules & {"dataclasses", "logging", "shutil", "subprocess", "zstandard"}
    # Neither settings, completions nor processes are asked for.
    assert not modules & {"tomllib", "click.shell_completion", "psutil"}
    readers = {name for name in modules if name.startswith("prong.agents.")}
    assert not {name for name in readers if name.endswith((".texts", ".turns", ".records"))}


def _loaded(home: IsolatedHome, store: StoreManifest, *arguments: str) -> set[str]:
    """The modules that prong leaves behind, in a process of its own."""
    script = (
        f"import sys, prong.cli\ntry:\n    prong.cli.main({list(arguments)!r})\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "print('modules', *sys.modules, sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script],
        env=home.env(store.environment),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(done.stdout.partition("\nmodules\n")[2].splitlines())
