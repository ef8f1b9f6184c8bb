"""How much work it is to look at workers, counted: terminal queries, processes, files opened."""

import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from prong.app import App
from prong.model.workers import Pane, WorkerInfo, WorkerState
from prong.processes.process import process_of
from prong.testing.home import IsolatedHome
from tests.terminals.tmux_lab import TmuxLab

pytestmark = pytest.mark.perf

MANY = 50

_seen: list[tuple[str, Any]] = []
_watching: list[bool] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and event in {"open", "subprocess.Popen"}:
        _seen.append((event, arguments[1] if event == "subprocess.Popen" else arguments[0]))


# A hook cannot be removed, so it is added once and kept quiet.
sys.addaudithook(_hook)


class Work:
    """What was done meanwhile."""

    def __init__(self) -> None:
        self.programs: list[list[str]] = []
        self.opened: Counter[str] = Counter()


@contextmanager
def counted() -> Generator[Work]:
    work = Work()
    _seen.clear()
    _watching.append(True)
    try:
        yield work
    finally:
        _watching.clear()
        work.programs = [list(what) for event, what in _seen if event == "subprocess.Popen"]
        work.opened = Counter(str(what) for event, what in _seen if event == "open")


@pytest.fixture
def app(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """Many workers: a sleeping program in a pane for each, that says it is idle."""
    with tempfile.TemporaryDirectory() as short, TmuxLab(Path(short)) as tmux, App() as app:
        monkeypatch.setenv("PRONG_TMUX_SOCKET", tmux.socket)
        tmux.tmux("new-session", "-d", "-s", "prong", "sleep", "600")
        started = [word for _ in range(MANY - 1) for word in (";", "new-window", "-d", "sleep 600")]
        tmux.tmux(*started[1:])
        panes = tmux.tmux("list-panes", "-a", "-F", "#{pane_id} #{pane_pid}").splitlines()
        for number, line in enumerate(panes):
            pane, pid = line.split()
            _add_worker(
                app, isolated_home, f"worker-{number}", Pane("tmux", pane, tmux.socket), pid
            )
        yield app


def _add_worker(app: App, home: IsolatedHome, name: str, pane: Pane, pid: str) -> None:
    id_ = str(uuid.uuid4())
    now = datetime.now(UTC)
    process = process_of(int(pid))
    app.workers.records.add(
        WorkerInfo(
            name=name,
            agent="claude",
            workspace=home.root,
            command="claude",
            created=now,
            started=now,
            session=id_,
            pane=pane,
            process=process,
        )
    )
    entry: dict[str, Any] = {"pid": int(pid), "sessionId": id_, "status": "idle"}
    entry["statusUpdatedAt"] = now.timestamp() * 1000 - 5000
    (home.claude / "sessions").mkdir(exist_ok=True)
    (home.claude / "sessions" / f"{pid}.json").write_text(json.dumps(entry))
    prompt = {"type": "user", "uuid": f"{name}-p", "message": {"content": f"prompt of {name}"}}
    body = {"id": name, "content": [{"type": "text", "text": f"answer of {name}"}]}
    answer = {"type": "assistant", "uuid": f"{name}-a", "parentUuid": f"{name}-p", "message": body}
    common = {"sessionId": id_, "timestamp": now.isoformat(), "cwd": str(home.root)}
    path = home.claude / "projects" / "-shop" / f"{id_}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({**line, **common}, separators=(",", ":")) for line in (prompt, answer))
    path.write_text("".join(f"{line}\n" for line in lines))


def test_many_workers_are_one_question_to_their_terminal(app: App) -> None:
    app.sessions.all("claude")
    with counted() as work:
        found = app.workers.states.all()
    assert [one.state for one in found] == [WorkerState.IDLE] * MANY
    assert {(one.turn, one.last_line) for one in found} == {
        (1, f"answer of worker-{number}") for number in range(MANY)
    }
    assert [argv[0] for argv in work.programs] == ["tmux"]
    sessions = {path: times for path, times in work.opened.items() if "/projects/" in path}
    assert len(sessions) == MANY
    assert set(sessions.values()) == {1}
    registry = {path: times for path, times in work.opened.items() if "/sessions/" in path}
    assert set(registry.values()) == {1}


def test_looking_again_opens_no_session(app: App) -> None:
    lookout = app.workers.states.lookout()
    workers = app.workers.records.all()
    lookout.look(workers)
    with counted() as work:
        found = lookout.look(workers)
    assert [one.state for one in found] == [WorkerState.IDLE] * MANY
    assert len(work.programs) == 1
    assert not [path for path in work.opened if "/projects/" in path]


def test_workers_that_ended_need_no_terminal(app: App) -> None:
    for worker in app.workers.records.all():
        app.workers.records.change(worker.name, stopped=datetime.now(UTC))
    with counted() as work:
        assert {one.state for one in app.workers.states.all()} == {WorkerState.GONE}
    assert work.programs == []


def test_a_dead_server_is_asked_once(app: App) -> None:
    pane = app.workers.records.get("worker-0").pane
    assert pane is not None
    subprocess.run(["tmux", "-S", str(pane.server), "kill-server"], check=True)
    until = time.monotonic() + 10
    while any(one.state is not WorkerState.GONE for one in app.workers.states.all()):
        assert time.monotonic() < until
        time.sleep(0.02)
    with counted() as work:
        app.workers.states.all()
    assert work.programs == []
