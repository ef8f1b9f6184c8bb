"""Ending, renaming and forgetting workers; a stand-in for the agent."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from prong.errors import Busy, Taken, UsageError
from prong.model.workers import Process, WorkerState
from prong.processes.process import is_alive
from prong.testing.home import IsolatedHome
from prong.workers.service import recent
from tests.unit.workers.worker_lab import WorkerLab, worker_lab


@pytest.fixture
def lab(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerLab]:
    with worker_lab(isolated_home, monkeypatch) as lab:
        yield lab


def panes(lab: WorkerLab) -> set[str]:
    return set(lab.tmux.tmux("list-panes", "-a", "-F", "#{pane_id}", check=False).split())


def test_an_idle_worker_is_ended_and_its_pane_closed(lab: WorkerLab) -> None:
    worker, other = lab.idle("otter"), lab.idle("badger")
    stopped = lab.app.workers.stop("otter")
    assert stopped.stopped is not None
    assert worker.process is not None
    assert other.pane is not None
    assert not is_alive(worker.process)
    assert panes(lab) == {other.pane.id}
    assert lab.state("otter") is WorkerState.GONE
    assert lab.state("badger") is WorkerState.IDLE


@pytest.mark.parametrize("prompt", ["work 60", "ask"])
def test_one_that_is_at_work_is_not_ended_unless_forced(lab: WorkerLab, prompt: str) -> None:
    worker = lab.start("otter", prompt=prompt)
    lab.until("otter", WorkerState.BUSY if prompt != "ask" else WorkerState.WAITING)
    with pytest.raises(Busy) as error:
        lab.app.workers.stop("otter")
    assert error.value.hint == "prong stop --force otter"
    assert worker.process is not None
    assert is_alive(worker.process)
    lab.app.workers.stop("otter", force=True)
    assert not is_alive(worker.process)


def test_a_pane_that_shows_an_ended_program_is_closed(lab: WorkerLab) -> None:
    lab.idle("otter")
    lab.app.workers.prompts.send("otter", "die 7")
    lab.until("otter", WorkerState.GONE)
    assert len(panes(lab)) == 1
    lab.app.workers.stop("otter")
    assert panes(lab) == set()


def test_a_process_and_a_pane_that_got_the_numbers_of_a_worker_live_on(lab: WorkerLab) -> None:
    other = lab.idle("badger")
    worker = lab.idle("otter")
    assert other.process is not None
    assert other.pane is not None
    lab.app.workers.records.change(
        "otter", process=Process(other.process.pid, "1@before"), pane=other.pane
    )
    lab.app.workers.stop("otter")
    assert is_alive(other.process)
    assert other.pane.id in panes(lab)
    assert lab.state("badger") is WorkerState.IDLE
    assert worker.process is not None


def test_stopping_twice_is_no_error(lab: WorkerLab) -> None:
    lab.idle("otter")
    lab.app.workers.stop("otter")
    lab.app.workers.stop("otter")
    assert lab.state("otter") is WorkerState.GONE


def test_a_renamed_worker_runs_on(lab: WorkerLab) -> None:
    lab.idle("otter")
    lab.app.workers.rename("otter", "calm-otter")
    assert lab.state("calm-otter") is WorkerState.IDLE
    assert [one.name for one in lab.app.workers.records.all()] == ["calm-otter"]
    assert lab.app.workers.rename("calm-otter", "calm-otter").name == "calm-otter"


def test_a_name_must_be_free_and_fit(lab: WorkerLab) -> None:
    lab.idle("otter")
    lab.idle("badger")
    with pytest.raises(Taken):
        lab.app.workers.rename("otter", "badger")
    for name in ("Otter", "a b", "claude", "abc123", "", "../x"):
        with pytest.raises(UsageError):
            lab.app.workers.rename("otter", name)
    assert {one.name for one in lab.app.workers.records.all()} == {"otter", "badger"}


def test_only_one_that_is_gone_is_forgotten_and_its_files_stay(lab: WorkerLab) -> None:
    worker = lab.start("otter", prompt="work 0")
    lab.until("otter", WorkerState.IDLE)
    with pytest.raises(Busy):
        lab.app.workers.forget("otter")
    lab.app.workers.stop("otter")
    lab.app.workers.forget("otter")
    assert lab.app.workers.records.all() == []
    assert lab.app.sessions.get(f"claude:{worker.session}").turn_count == 1
    assert worker.workspace.is_dir()


def test_one_that_was_gone_for_long_is_not_listed(lab: WorkerLab) -> None:
    lab.idle("old")
    lab.app.workers.stop("old")
    lab.idle("new")
    found = lab.app.workers.states.all()
    assert [one.worker.name for one in recent(found)] == ["old", "new"]
    later = datetime.now(UTC) + timedelta(days=8)
    assert [one.worker.name for one in recent(found, later)] == ["new"]
