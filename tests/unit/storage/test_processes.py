"""Several processes at state.db, and processes that are killed in the middle."""

import signal
import sqlite3
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from prong.storage.forks import ForkRecords
from tests.unit.storage.fork_facts import fork, started

# Every process says that it is ready and waits for a line, so that all begin at the same time.
TOGETHER = """
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "prong" / "state.db"


def run_together(processes: Iterable[subprocess.Popen[str]]) -> list[str]:
    """Start all at once; what they printed, when every one of them ended well."""
    processes = list(processes)
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    printed: list[str] = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        printed.append(out.strip())
    return printed


def is_sound(path: Path) -> bool:
    other = sqlite3.connect(path)
    try:
        return other.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        other.close()


def test_a_new_file_that_all_open_at_the_same_time(tmp_path: Path) -> None:
    code = TOGETHER + "records.add(fork(int(sys.argv[2])))"
    for attempt in range(5):
        path = tmp_path / str(attempt) / "state.db"
        run_together(started(code, path, str(number)) for number in range(4))
        assert {one.id for one in ForkRecords(path).all()} == {f"fork-{n}" for n in range(4)}


def test_a_damaged_file_that_all_find_at_the_same_time(path: Path) -> None:
    """It is moved once: who comes second must not move the new one."""
    path.parent.mkdir()
    path.write_bytes(b"nonsense" * 1000)
    code = TOGETHER + "records.add(fork(int(sys.argv[2])))"
    run_together(started(code, path, str(number)) for number in range(4))
    records = ForkRecords(path)
    assert {one.id for one in records.all()} == {f"fork-{n}" for n in range(4)}
    assert records.health().damaged == (path.with_name("state.db.damaged-1"),)


def test_eight_processes_add_fifty_forks_each(path: Path) -> None:
    code = TOGETHER + (
        "start = int(sys.argv[2])\n"
        "for number in range(start, start + 50):\n"
        "    records.add(fork(number))\n"
        "    assert fork(number) in records.all()\n"
    )
    run_together(started(code, path, str(50 * number)) for number in range(8))
    assert {one.id for one in ForkRecords(path).all()} == {f"fork-{n}" for n in range(400)}
    assert is_sound(path)


# The audit event `prong.step` is raised before each fork of a batch and before the batch is kept.
KILLED_AT = """
import os, signal
left = int(sys.argv[2])
def count(event, _):
    global left
    if event == "prong.step":
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
records.add(fork(1), fork(2), fork(3))
"""


@pytest.mark.parametrize("step", [1, 2, 3, 4])
@pytest.mark.parametrize("known", [0, 40])
def test_killed_in_the_middle_of_a_batch(path: Path, step: int, known: int) -> None:
    records = ForkRecords(path)
    before = [fork(100 + number) for number in range(known)]
    records.add(*before)
    process = started(KILLED_AT, path, str(step))
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert records.all() == before
    records.add(fork(1))
    assert records.all() == [*before, fork(1)]
    assert records.health().damaged == ()
    assert is_sound(path)


def test_the_steps_are_four(path: Path) -> None:
    """Otherwise the test above would miss one."""
    process = started(KILLED_AT, path, "5")
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert ForkRecords(path).all() == [fork(1), fork(2), fork(3)]


def test_killed_at_any_moment(path: Path) -> None:
    """What a process was told to be recorded is there, and of each batch all or nothing."""
    code = """
start = int(sys.argv[2])
while True:
    records.add(fork(start), fork(start + 1), fork(start + 2))
    print(start, flush=True)
    start += 3
"""
    told: set[int] = set()
    for attempt in range(6):
        process = started(code, path, str(10_000 * attempt))
        assert process.stdout is not None
        told |= {int(process.stdout.readline()) for _ in range(attempt + 1)}
        process.kill()
        out, _ = process.communicate(timeout=60)
        told |= {int(line) for line in out.splitlines()}
        found = {int(one.id.removeprefix("fork-")) for one in ForkRecords(path).all()}
        assert {number + more for number in told for more in range(3)} <= found
        assert len(found) % 3 == 0
    assert is_sound(path)
    assert ForkRecords(path).health().damaged == ()
