"""Pipes, devices and folders in place of state.db or its log: said at once, never read."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from prong.errors import External
from prong.storage import connection
from prong.storage.forks import ForkRecords
from tests.unit.storage.fork_facts import fork, started


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "prong" / "state.db"
    ForkRecords(path).add(fork(1))
    connection.close(path)
    return path


@pytest.mark.parametrize("name", ["state.db", "state.db-wal", "state.db-shm"])
@pytest.mark.parametrize("make", [device, os.mkfifo, os.mkdir], ids=["device", "pipe", "folder"])
def test_in_its_place(path: Path, name: str, make: Callable[[Path], None]) -> None:
    odd = path.with_name(name)
    odd.unlink(missing_ok=True)
    make(odd)
    code = """
print(len(records.all()), records.health().problem)
try:
    records.add(fork(2))
except Exception as error:
    print(type(error).__name__, error)
"""
    # A copy of a device would fill the disk.
    process = started(code, path)
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        raise
    said = f"{path} cannot be written: {name} is not a regular file"
    assert out.splitlines() == [f"0 {said}", f"External {said}"], err
    assert sorted(one.name for one in path.parent.iterdir()) == sorted(
        {"state.db", "state.lock", name}
    )


def test_a_link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")
    records = ForkRecords(path)
    assert records.all() == []
    assert records.health().problem == f"{path} is a link to nothing"
    with pytest.raises(External):
        records.add(fork(2))
