"""How much work an access to state.db is, counted in steps of sqlite's own machine."""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from prong.model.code import Snapshot
from prong.model.sessions import SessionRef
from prong.storage import connection
from prong.storage.forks import ForkRecords
from prong.storage.snapshots import SnapshotRecords
from prong.storage.workers import WorkerRecords
from tests.unit.storage.fork_facts import fork

pytestmark = pytest.mark.perf

FEW, MANY = 7, 100_000
SESSION = SessionRef("claude", "session-3")


def snapshot(number: int) -> Snapshot:
    return Snapshot(
        repo=Path("/home/ada/shop"),
        ref=f"refs/prong/{number}",
        commit=f"{number:040x}",
        tree=f"{number:040x}",
        staged_tree=None,
        head=None,
        branch="main",
        agent="claude",
        session=f"session-{number}",
        turn_id=f"turn-{number}",
        number=1,
        message_id=None,
        taken=datetime(2026, 3, 1, tzinfo=UTC),
        changed=True,
        degraded=None,
        left_out=(),
        nested=(),
        late=False,
    )


def accesses(path: Path) -> dict[str, Callable[[], object]]:
    snapshots, workers, forks = SnapshotRecords(path), WorkerRecords(path), ForkRecords(path)
    return {
        "open": lambda: (connection.close(path), workers.named("nobody")),
        "snapshots of a turn": lambda: snapshots.of_turns(SESSION, ["turn-3"]),
        "keep a snapshot": lambda: snapshots.add(snapshot(3)),
        "forget a snapshot": lambda: snapshots.forget([snapshot(3).key]),
        "all workers": workers.all,
        "record a fork": lambda: forks.add(fork(1)),
    }


def work(path: Path, count: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[int, int]]:
    """The statements, and the steps of sqlite, of each access, in a file with so many snapshots."""
    SnapshotRecords(path).add(*map(snapshot, range(count)))
    connection.close(path)
    statements: list[str] = []
    steps: list[int] = []
    real: Any = sqlite3.connect

    def counting(*words: object, **names: object) -> sqlite3.Connection:
        opened = real(*words, **names)
        opened.set_trace_callback(statements.append)
        opened.set_progress_handler(lambda: steps.append(1), 1)
        return opened

    monkeypatch.setattr(sqlite3, "connect", counting)
    found: dict[str, tuple[int, int]] = {}
    for name, act in accesses(path).items():
        act()  # what is prepared and cached once
        statements.clear()
        steps.clear()
        act()
        found[name] = len(statements), len(steps)
    connection.close(path)
    monkeypatch.undo()
    return found


def test_an_access_costs_the_same_with_many_snapshots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = work(tmp_path / "few" / "state.db", FEW, monkeypatch)
    many = work(tmp_path / "many" / "state.db", MANY, monkeypatch)
    for name, (statements, steps) in few.items():
        assert steps > 0
        assert many[name][0] == statements, name
        assert many[name][1] <= 2 * steps, name


def test_nothing_is_checked_at_an_access(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Integrity is a matter of `prong doctor`, tables are looked at when the version changes."""
    asked: list[str] = []
    real: Any = sqlite3.connect

    def telling(*words: object, **names: object) -> sqlite3.Connection:
        opened = real(*words, **names)
        opened.set_trace_callback(asked.append)
        return opened

    path = tmp_path / "state.db"
    ForkRecords(path).add(fork(1))
    connection.close(path)
    monkeypatch.setattr(sqlite3, "connect", telling)
    for act in accesses(path).values():
        act()
    connection.close(path)
    assert asked
    assert not [
        one for one in asked if "integrity" in one or "table_info" in one or "CREATE" in one
    ]
