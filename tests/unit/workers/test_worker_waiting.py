"""Waiting for workers: until they are idle and not earlier; a stand-in for the agent."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from prong.errors import Busy, NotFound
from prong.model.workers import WorkerState
from prong.testing.home import IsolatedHome
from tests.interrupts import ending, unmeasured
from tests.unit.workers.worker_lab import WorkerLab, until, worker_lab


@pytest.fixture
def lab(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerLab]:
    with worker_lab(isolated_home, monkeypatch) as lab:
        yield lab


def test_it_returns_when_the_turn_is_over_and_soon_after(lab: WorkerLab) -> None:
    worker = lab.start("otter", prompt="work 1.5")
    [status] = lab.app.workers.states.wait(["otter"], timeout=20)
    now = datetime.now(UTC)
    assert status.state is WorkerState.IDLE
    assert status.last_line == "answer to work 1.5"
    entry = lab.home.claude / "sessions" / f"{worker.process.pid if worker.process else 0}.json"
    over = json.loads(entry.read_text())["statusUpdatedAt"] / 1000
    assert 0 < now.timestamp() - over < 1.5


def test_right_after_a_prompt_an_older_idle_is_not_believed(lab: WorkerLab) -> None:
    lab.idle("otter")
    began = time.monotonic()
    lab.app.workers.prompts.send("otter", "work 1")
    [status] = lab.app.workers.states.wait(["otter"], timeout=20)
    assert time.monotonic() - began > 1
    assert status.last_line == "answer to work 1"


def test_all_or_any(lab: WorkerLab) -> None:
    lab.start("quick", prompt="work 0.2")
    lab.start("slow", prompt="work 3")
    found = lab.app.workers.states.wait(["quick", "slow"], any_=True, timeout=20)
    assert [one.state for one in found] == [WorkerState.IDLE, WorkerState.BUSY]
    found = lab.app.workers.states.wait(["quick", "slow"], timeout=20)
    assert [one.state for one in found] == [WorkerState.IDLE, WorkerState.IDLE]


def test_one_that_asks_or_ends_is_an_end_as_well(lab: WorkerLab) -> None:
    lab.start("asks", prompt="ask")
    lab.idle("ends")
    lab.app.workers.prompts.send("ends", "die 3")
    found = lab.app.workers.states.wait(["asks", "ends"], timeout=20)
    assert [one.state for one in found] == [WorkerState.WAITING, WorkerState.GONE]


def test_one_that_is_gone_is_not_waited_for_even_if_only_idle_is_wanted(lab: WorkerLab) -> None:
    lab.idle("ends")
    lab.app.workers.prompts.send("ends", "die 3")
    [status] = lab.app.workers.states.wait(["ends"], until={WorkerState.IDLE}, timeout=20)
    assert status.state is WorkerState.GONE


def test_a_question_is_waited_out_when_only_idle_is_wanted(lab: WorkerLab) -> None:
    lab.start("asks", prompt="ask")
    lab.until("asks", WorkerState.WAITING)
    answer = threading.Timer(0.5, lambda: lab.app.workers.prompts.press("asks", "Enter"))
    answer.start()
    [status] = lab.app.workers.states.wait(["asks"], until={WorkerState.IDLE}, timeout=20)
    answer.join()
    assert status.state is WorkerState.IDLE


def test_the_time_is_up(lab: WorkerLab) -> None:
    lab.start("otter", prompt="work 60")
    with pytest.raises(Busy, match=r"otter is \w+ after 0.5 s") as error:
        lab.app.workers.states.wait(["otter"], timeout=0.5)
    assert error.value.details == {"workers": ["otter"]}
    assert error.value.hint is not None


def test_a_name_that_is_not_there_is_told_at_once(lab: WorkerLab) -> None:
    lab.start("otter", prompt="work 60")
    began = time.monotonic()
    with pytest.raises(NotFound, match="no worker named nobody"):
        lab.app.workers.states.wait(["otter", "nobody"], any_=True)
    assert time.monotonic() - began < 2


def test_nobody_is_waited_for(lab: WorkerLab) -> None:
    assert lab.app.workers.states.wait([]) == []


def test_an_interrupt_leaves_nothing(lab: WorkerLab) -> None:
    worker = lab.start("otter", prompt="work 60")
    lab.until("otter", WorkerState.BUSY)
    before = sorted(str(path) for path in lab.app.state_dir.rglob("*"))
    code = "from prong.app import App; print(1, flush=True); App().workers.states.wait(['otter'])"
    waiting = subprocess.Popen(
        [sys.executable, "-c", code],
        env=unmeasured(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert waiting.stdout is not None
    with ending(waiting), waiting.stdout:
        waiting.stdout.readline()
        time.sleep(0.5)
        waiting.send_signal(2)
        assert waiting.wait(20) != 0
    assert lab.app.workers.records.get("otter").session == worker.session
    assert lab.state("otter") is WorkerState.BUSY
    assert sorted(str(path) for path in lab.app.state_dir.rglob("*")) == before
    until(lambda: lab.state("otter") is WorkerState.BUSY)
