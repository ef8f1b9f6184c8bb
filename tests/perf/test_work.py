"""How much work is done, counted: files opened, bytes read. Seconds are for `benchmarks/`."""

import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.store import StoreManifest, write_store
from prong.agents import jsonl, scan
from prong.app import App
from prong.forks.request import ForkRequest
from prong.model.sessions import Session
from prong.testing.home import IsolatedHome

pytestmark = pytest.mark.perf

_watchers: list[Callable[[str], None]] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _watchers and isinstance(arguments[0], str):
        for watcher in _watchers:
            watcher(arguments[0])


# Sees every way of opening a file. A hook cannot be removed, so it is added once and kept quiet.
sys.addaudithook(_hook)


@contextmanager
def opened_below(*roots: Path) -> Generator[list[str]]:
    """The files below some folders that are opened meanwhile."""
    seen: list[str] = []
    places = tuple(f"{root}{os.sep}" for root in roots)

    def watch(path: str) -> None:
        if path.startswith(places) and path.endswith((".jsonl", ".zst", ".json")):
            seen.append(path)

    _watchers.append(watch)
    try:
        yield seen
    finally:
        _watchers.remove(watch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(
    root: Path, isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch
) -> StoreManifest:
    manifest = write_store(root, sessions=40, megabytes=2)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(root / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(root / "codex"))
    return manifest


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The offsets of the records that are parsed."""
    offsets: list[int] = []
    records = jsonl.Reader[Any].records

    def counted(self: jsonl.Reader[Any], *args: Any, **options: Any) -> Iterator[Any]:
        for record in records(self, *args, **options):
            offsets.append(record[0])
            yield record

    monkeypatch.setattr(jsonl.Reader, "records", counted)
    return offsets


def test_a_cold_scan_opens_each_session_file_once(root: Path, store: StoreManifest) -> None:
    with opened_below(root) as opened:
        sessions = App().sessions.all()
    assert len(sessions) == len(store.sessions)
    assert len(opened) == len(set(opened))
    assert not [path for path in opened if "subagents" in path]


def test_when_nothing_changed_no_session_file_is_opened(root: Path, store: StoreManifest) -> None:
    first = App().sessions.all()
    with opened_below(root) as opened:
        second = App().sessions.all()
    assert second == first
    assert [path for path in opened if not path.endswith("session_index.jsonl")] == []


def test_one_changed_file_is_one_file_opened(root: Path, store: StoreManifest) -> None:
    session = App().sessions.all()[0]
    with session.path.open("ab") as file:
        file.write(b'{"type":"mode","mode":"normal"}\n')
    with opened_below(root) as opened:
        App().sessions.all()
    assert [path for path in opened if not path.endswith("session_index.jsonl")] == [session.file]


def test_a_large_file_that_grew_is_not_parsed_again(
    store: StoreManifest, parsed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "CONTINUED_FROM", 1000)
    claude = [session for session in App().sessions.all() if session.agent == "claude"]
    session = max(claude, key=lambda session: session.size)
    line = b'{"type":"custom-title","customTitle":"A new title"}\n'
    with session.path.open("ab") as file:
        file.write(line)
    parsed.clear()
    titles = {one.ref: one.title for one in App().sessions.all()}
    assert titles[session.ref] == "A new title"
    assert parsed == [session.size]


def test_turns_reads_each_line_of_one_file_once(
    root: Path, store: StoreManifest, parsed: list[int]
) -> None:
    app = App()
    claude = [session for session in app.sessions.all() if session.agent == "claude"]
    session = max(claude, key=lambda session: session.size)
    parsed.clear()
    with opened_below(root) as opened:
        app.sessions.conversation(session)
    sessions_opened = [path for path in opened if not path.endswith(".meta.json")]
    assert sessions_opened == [session.file]
    assert len(parsed) == len(set(parsed)) == session.path.read_bytes().count(b"\n")


@pytest.fixture
def app(store: StoreManifest) -> Iterator[App]:
    with closing(App(needs_programs=False)) as app:
        yield app


def longest(app: App) -> Session:
    found = [session for session in app.sessions.all() if session.agent == "claude"]
    return max(found, key=lambda session: session.size)


def test_a_plan_and_its_fork_read_the_source_once_and_the_copy_once(
    root: Path, app: App, parsed: list[int], tmp_path: Path
) -> None:
    session = longest(app)
    # The very first fork makes state.db, for which all sessions are asked.
    other = next(one for one in app.sessions.all() if one.agent == "claude" and one != session)
    app.forks.make(app.forks.plan(str(other.ref), ForkRequest(into=tmp_path)))
    parsed.clear()
    with opened_below(root) as opened:
        plan = app.forks.plan(f"{session.ref}@2", ForkRequest(into=tmp_path))
    assert opened == [session.file]
    assert len(parsed) == session.path.read_bytes().count(b"\n")
    parsed.clear()
    with opened_below(root) as opened:
        fork = app.forks.make(plan)
    # It is staged under its name with a number before it.
    assert {Path(path).name.removeprefix("0-") for path in opened} == {f"{fork.child.id}.jsonl"}
    assert fork.path
    assert len(parsed) == fork.path.read_bytes().count(b"\n")


def test_one_more_fork_does_not_read_the_source_again(
    root: Path, app: App, parsed: list[int], tmp_path: Path
) -> None:
    point = f"{longest(app).ref}@2"
    app.forks.make(app.forks.plan(point, ForkRequest(into=tmp_path)))
    parsed.clear()
    with opened_below(root) as opened:
        app.forks.plan(point, ForkRequest(into=tmp_path))
    assert (opened, parsed) == ([], [])


def test_a_large_session_that_was_listed_is_not_parsed_for_a_plan(
    app: App, parsed: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "CONTINUED_FROM", 1000)
    session = longest(app)
    parsed.clear()
    with closing(App(needs_programs=False)) as later:
        later.forks.plan(f"{session.ref}@2", ForkRequest(into=tmp_path))
    assert parsed == []
