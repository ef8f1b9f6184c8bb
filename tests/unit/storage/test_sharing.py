"""Threads and processes at one state.db: what was acknowledged is there, whoever is killed."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from prong.storage import connection
from prong.storage.forks import ForkRecords
from tests.unit.storage.fork_facts import fork, script, started

ROUNDS = 4
SECONDS = 30.0
"""So long it goes on, and for so many rounds at least."""
ACKNOWLEDGED_BEFORE_A_KILL = 40

# Eight threads: six write and say what was recorded, two read what is there.
WORK = """
import itertools, os, threading
from prong.errors import Busy
start, count = int(sys.argv[2]), int(sys.argv[3])
told = os.dup(1)

def write(thread):
    numbers = itertools.count() if count < 0 else range(count)
    for number in numbers:
        one = start + thread * 10_000 + number
        while not added(one):
            pass
        os.write(told, b"%d\\n" % one)

def added(one):
    try:
        records.add(fork(one))
    except Busy:
        return False  # on a slow disk the others may be before us for a long time
    return True

def look():
    while not over.is_set():
        known = {one.id for one in records.all()}
        assert len(known) >= 0

over = threading.Event()
readers = [threading.Thread(target=look, daemon=True) for _ in range(2)]
writers = [threading.Thread(target=write, args=(thread,)) for thread in range(6)]
for thread in (*readers, *writers):
    thread.start()
for thread in writers:
    thread.join()
over.set()
for thread in readers:
    thread.join()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "prong" / "state.db"


def recorded(path: Path) -> set[int]:
    return {int(one.id.removeprefix("fork-")) for one in ForkRecords(path).all()}


def is_healthy(path: Path) -> bool:
    health = ForkRecords(path).health()
    return health.problem is None and not health.damaged


def test_what_was_acknowledged_is_there_after_kills(path: Path) -> None:
    """Four processes of eight threads each, round after round; two of each four are killed."""
    told: set[int] = set()
    end = time.monotonic() + SECONDS
    attempt = 0
    while attempt < ROUNDS or time.monotonic() < end:
        processes = [
            started(WORK, path, str((attempt * 4 + one) * 100_000), "-1" if one < 2 else "15")
            for one in range(4)
        ]
        for process in processes[:2]:
            assert process.stdout is not None
            told |= {int(process.stdout.readline()) for _ in range(ACKNOWLEDGED_BEFORE_A_KILL)}
            process.kill()
        for one, process in enumerate(processes):
            out, err = process.communicate(timeout=300)
            lines = out.split("\n")
            told |= {int(line) for line in lines[:-1]}
            assert process.returncode == (-signal.SIGKILL if one < 2 else 0), err
        attempt += 1
    assert len(told) >= attempt * 2 * (ACKNOWLEDGED_BEFORE_A_KILL + 6 * 15)
    assert told <= recorded(path)
    assert is_healthy(path)


def test_two_threads_and_another_process(path: Path) -> None:
    """The smallest case: a descriptor closed in one thread dropped the lock of the other."""
    code = """
for number in range(int(sys.argv[2]), int(sys.argv[2]) + 200):
    records.add(fork(number))
"""
    other = started(code, path, "10000")
    records = ForkRecords(path)
    together = Barrier(2)

    def add(first: int) -> None:
        together.wait()
        for number in range(first, first + 200):
            records.add(fork(number))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(add, (0, 1000)))
    _, err = other.communicate(timeout=300)
    assert other.returncode == 0, err
    expected = {start + number for start in (0, 1000, 10_000) for number in range(200)}
    assert recorded(path) == expected
    assert is_healthy(path)


def test_no_descriptor_of_the_file_is_opened_beside_sqlite(path: Path) -> None:
    """Python's `open` event tells of every one; those of sqlite are not among them."""
    code = """
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
for number in range(3):
    records.add(fork(number))
    records.all()
    records.health()
print([one for one in opened if one.endswith(("state.db", "-wal", "-shm"))])
"""
    out, err = started(code, path).communicate(timeout=60)
    assert out == "[]\n", err


def test_reading_does_not_wait_for_a_writer_of_this_process_or_another(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = ForkRecords(path)
    records.add(fork(1))
    holder = started(HOLDS, path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "holds\n"
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(records.add, fork(2))
        for _ in range(50):
            assert records.all() == [fork(1)]
        assert not writing.done()
        holder.communicate("go on\n", timeout=60)
        writing.result(timeout=60)
    assert recorded(path) == {1, 2, 9}


HOLDS = """
from prong.storage import connection
def hold(opened):
    opened.execute("UPDATE forks SET turn = turn")
    print("holds", flush=True)
    sys.stdin.readline()
connection.write(Path(sys.argv[1]), hold)
records.add(fork(9))
"""


def test_a_forked_child_has_a_connection_of_its_own(path: Path) -> None:
    records = ForkRecords(path)
    records.add(fork(1))
    child = os.fork()
    if child == 0:
        try:
            records.add(fork(2))
            os._exit(0 if len(records.all()) == 2 else 1)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    records.add(fork(3))
    assert recorded(path) == {1, 2, 3}
    assert is_healthy(path)


def test_a_file_that_is_deleted_while_it_is_used(path: Path) -> None:
    records = ForkRecords(path)
    records.add(fork(1))
    path.unlink()
    assert records.all() == []
    records.add(fork(2))
    out = subprocess.run(
        script("print([one.id for one in records.all()])", path),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert out == "['fork-2']\n"
    assert is_healthy(path)


def test_a_file_that_is_replaced_while_it_is_used(path: Path) -> None:
    other = path.with_name("other") / "state.db"
    ForkRecords(other).add(fork(7))
    connection.close(other)
    records = ForkRecords(path)
    records.add(fork(1))
    for ending in ("-wal", "-shm"):
        path.with_name(f"{path.name}{ending}").unlink()
    other.rename(path)
    assert records.all() == [fork(7)]
    records.add(fork(8))
    connection.close_all()
    assert records.all() == [fork(7), fork(8)]
    assert is_healthy(path)
