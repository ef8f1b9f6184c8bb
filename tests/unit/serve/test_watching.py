"""Which folders are watched, and that a change in one is seen, also when it comes later."""

from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event

import pytest

from prong.app import App
from prong.model.workers import WorkerInfo
from prong.serve import watching
from prong.serve.watching import Watch
from prong.testing.home import IsolatedHome

PATIENCE = 10


@pytest.fixture
def changed() -> Event:
    return Event()


@pytest.fixture
def watch(changed: Event) -> Generator[Watch]:
    watch = Watch(changed.set, lambda path: not path.endswith(".lock"))
    watch.start()
    yield watch
    watch.stop()


def quiet(changed: Event, seconds: float = 0.3) -> bool:
    """Nothing more is told for a while."""
    while changed.wait(0.2):
        changed.clear()
    return not changed.wait(seconds)


def test_a_change_is_told(watch: Watch, changed: Event, tmp_path: Path) -> None:
    watch.watch([tmp_path])
    assert changed.wait(PATIENCE)  # whatever happened before
    assert quiet(changed)
    (tmp_path / "events.jsonl").write_text("1")
    assert changed.wait(PATIENCE)
    assert quiet(changed)
    (tmp_path / "state.lock").write_text("")
    assert quiet(changed)


def test_a_folder_that_comes_later(watch: Watch, changed: Event, tmp_path: Path) -> None:
    later = tmp_path / "sessions"
    watch.watch([tmp_path / "other", later])
    assert quiet(changed)
    later.mkdir()
    assert changed.wait(PATIENCE)
    assert quiet(changed)
    (later / "1.json").write_text("{}")
    assert changed.wait(PATIENCE)


def test_a_folder_that_goes(watch: Watch, changed: Event, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    watch.watch([first, second])
    assert changed.wait(PATIENCE)
    first.rmdir()
    assert quiet(changed, 1)
    (second / "x").write_text("")
    assert changed.wait(PATIENCE)


def test_without_watchers_it_is_looked_again_and_again(
    changed: Event, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(watching.Watch, "_watch", full)
    watch = Watch(changed.set, lambda _: True)
    watch.watch([tmp_path])
    watch.start()
    for _ in range(3):
        assert changed.wait(PATIENCE)
        changed.clear()
    watch.stop()


def test_what_is_watched(isolated_home: IsolatedHome, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    thread = "01a1e56c-6ddd-7d91-9d94-ffcc0c30145e"  # of 2026-11-16

    def worker(agent: str, **fields: object) -> WorkerInfo:
        return WorkerInfo("calm-otter", agent, tmp_path, (agent,), now, **fields)  # pyright: ignore[reportArgumentType]

    with App() as app:
        state = {app.state_dir, app.state_dir / "spool"}
        assert app.workers.states.watched([]) == state
        claude = app.workers.states.watched([worker("claude", log=tmp_path / "log" / "x")])
        assert claude - state == {isolated_home.claude / "sessions", tmp_path / "log"}
        codex = app.workers.states.watched([worker("codex", session=thread)]) - state
        assert isolated_home.codex / "thread-writer-locks" in codex
        assert isolated_home.codex / f"sessions/{now:%Y/%m/%d}" in codex
        assert isolated_home.codex / "sessions/2026/11/16" in codex
        assert app.workers.states.watched([worker("codex", session="no id")])
        assert app.workers.states.watched([worker("nobody")]) == state
