"""Recorded workers."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prong.errors import NotFound, Taken
from prong.model.record import replace
from prong.model.workers import Pane, Process, WorkerInfo
from prong.storage.workers import WorkerRecords

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
PLAIN = WorkerInfo(
    name="calm-otter",
    agent="claude",
    workspace=Path("/home/ada/shop"),
    command="claude",
    created=NOW,
)
FULL = WorkerInfo(
    name="swift-heron",
    agent="codex",
    session="01a1e076-e558-7000-8000-000000000000",
    workspace=Path("/home/ada/na\udcefve shop"),
    command=("codex", "--model", "gpt 5; $(id)"),
    env={"HTTPS_PROXY": "http://127.0.0.1:9", "EMPTY": ""},
    created=NOW,
    started=NOW + timedelta(seconds=1),
    stopped=NOW + timedelta(hours=1),
    prompted=NOW + timedelta(minutes=1),
    headless=True,
    pane=Pane("tmux", "%3", "/tmp/tmux-0/default"),  # noqa: S108
    process=Process(4711, "998877"),
    log=Path("/state/workers/swift-heron.jsonl"),
    worktree=Path("/data/worktrees/shop/1a2b3c4d"),
    branch="prong/swift-heron",
    fork="f1",
    forked_from="calm-otter",
    commit_turns=True,
    push="origin",
    version="codex-cli 0.169.0",
    settings_hash="ab" * 32,
)


@pytest.fixture
def records(tmp_path: Path) -> WorkerRecords:
    return WorkerRecords(tmp_path / "prong" / "state.db")


@pytest.mark.parametrize("worker", [PLAIN, FULL], ids=["plain", "full"])
def test_what_was_added_comes_back(records: WorkerRecords, worker: WorkerInfo) -> None:
    records.add(worker)
    assert WorkerRecords(records.path).all() == [worker]
    assert records.named(worker.name) == worker
    assert records.named("nobody") is None


def test_each_worker_has_a_copy_that_is_as_new_as_its_record(records: WorkerRecords) -> None:
    for worker in (FULL, PLAIN):
        records.add(worker)
    assert records.copies() == records.all()
    records.change(PLAIN.name, session="60309e1e", stopped=NOW)
    renamed = records.rename(FULL.name, "grey-heron")
    assert sorted(records.copies(), key=str) == sorted(records.all(), key=str)
    records.remove(PLAIN.name)
    assert records.copies() == [renamed]
    (records.path.parent / "workers" / "odd.json").write_text("[]")
    assert records.copies() == [renamed]


def test_a_copy_that_cannot_be_written_keeps_nobody(records: WorkerRecords) -> None:
    records.path.parent.mkdir()
    (records.path.parent / "workers").touch()
    records.add(PLAIN)
    assert records.all() == [PLAIN]


def test_one_name_is_one_worker(records: WorkerRecords) -> None:
    records.add(PLAIN)
    with pytest.raises(Taken, match="calm-otter"):
        records.add(replace(FULL, name=PLAIN.name))
    assert records.all() == [PLAIN]


def test_a_name_goes_to_one_of_many_that_want_it(records: WorkerRecords) -> None:
    def add(number: int) -> bool:
        try:
            records.add(replace(PLAIN, session=str(number)))
        except Taken:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(add, range(24))) == 1
    assert len(records.all()) == 1


def test_a_change_keeps_what_others_changed(records: WorkerRecords) -> None:
    records.add(PLAIN)
    stale = records.named(PLAIN.name)
    assert stale is not None
    records.change(PLAIN.name, session="s1")
    changed = records.change(stale.name, pane=Pane("tmux", "%1"))
    assert (changed.session, changed.pane) == ("s1", Pane("tmux", "%1"))
    assert records.named(PLAIN.name) == changed


def test_renaming(records: WorkerRecords) -> None:
    records.add(PLAIN)
    records.add(FULL)
    with pytest.raises(Taken):
        records.rename(PLAIN.name, FULL.name)
    assert records.rename(PLAIN.name, "bold-owl") == replace(PLAIN, name="bold-owl")
    assert [one.name for one in records.all()] == ["bold-owl", FULL.name]


def test_what_is_gone_cannot_be_changed(records: WorkerRecords) -> None:
    records.add(PLAIN)
    records.remove(PLAIN.name)
    records.remove(PLAIN.name)
    assert records.all() == []
    for act in (
        lambda: records.change(PLAIN.name, session="s"),
        lambda: records.rename(PLAIN.name, "bold-owl"),
    ):
        with pytest.raises(NotFound, match="calm-otter"):
            act()


def test_nothing_is_made_by_looking(records: WorkerRecords) -> None:
    assert records.all() == []
    assert records.named("calm-otter") is None
    assert not records.path.exists()
