"""Processes: alive or not, and ended without hitting another one."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from prong.model.workers import Process
from prong.processes import process as processes
from prong.processes.process import ancestors, descendants, end, is_alive, process_of

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
SLEEP = [sys.executable, "-c", "import time; time.sleep(100)"]
_DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True)"
DEAF = [sys.executable, "-c", f"{_DEAF}; time.sleep(100)"]


@contextmanager
def running(argv: list[str], *, group: bool = False) -> Generator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=group)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_a_running_process_is_alive_until_it_ends() -> None:
    with running(SLEEP) as child:
        process = process_of(child.pid)
        assert is_alive(process)
        child.kill()
        child.wait()
        assert not is_alive(process)


@needs_proc
def test_a_zombie_is_dead() -> None:
    with running(SLEEP) as child:
        process = process_of(child.pid)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(process)


@needs_proc
def test_a_number_that_is_used_again_is_another_process() -> None:
    own = process_of(os.getpid())
    ticks, _, boot = (own.started or "").partition("@")
    assert is_alive(own)
    assert is_alive(Process(own.pid, ticks))  # as Claude Code knows it
    assert not is_alive(Process(own.pid, f"{int(ticks) + 1}@{boot}"))
    assert not is_alive(Process(own.pid, f"{ticks}@another-boot"))


def test_where_no_ticks_are_counted_the_time_of_the_start_tells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(processes, "_BOOT_ID", tmp_path / "none")
    own = process_of(os.getpid())
    assert is_alive(own)
    assert is_alive(Process(own.pid, "as Claude Code writes it there"))
    assert not is_alive(Process(own.pid, "1.5@"))


def test_relatives() -> None:
    shell = ["sh", "-c", '"$@"; true', "sh", sys.executable, "-c", "print(1, flush=True); input()"]
    with subprocess.Popen(shell, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        (inner,) = descendants([child.pid, 2**22])[child.pid]
        assert list(ancestors(inner))[:2] == [child.pid, os.getpid()]
        assert next(ancestors(os.getpid())) == os.getppid()
        assert list(ancestors(2**22)) == []
        child.communicate(b"\n")


@pytest.mark.parametrize("pid", [0, -1, -5, 1 << 70])
def test_what_is_no_process(pid: int) -> None:
    assert not is_alive(Process(pid))
    assert not end(Process(pid))


def test_ending_asks_first() -> None:
    with running(SLEEP) as child:
        assert end(process_of(child.pid))
        assert child.wait() == -signal.SIGTERM


def test_who_does_not_listen_is_ended_all_the_same() -> None:
    with running(DEAF) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert end(process_of(child.pid), patience=0.2)
        assert child.wait() == -signal.SIGKILL


def test_a_group_ends_as_a_whole() -> None:
    script = "import subprocess, sys, time; p = subprocess.Popen(['sleep', '100']);"
    argv = [sys.executable, "-c", f"{script} print(p.pid, flush=True); time.sleep(100)"]
    with running(argv, group=True) as child:
        assert child.stdout is not None
        inner = process_of(int(child.stdout.readline()))
        assert end(process_of(child.pid))
        until = time.monotonic() + 5
        while is_alive(inner) and time.monotonic() < until:
            time.sleep(0.01)
        assert not is_alive(inner)


@needs_proc
def test_another_process_is_never_ended() -> None:
    with running(SLEEP) as child:
        assert not end(Process(child.pid, "1@another"))
        assert child.poll() is None
