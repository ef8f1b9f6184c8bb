"""Subprocess with limits on time and output, killed with its whole process group."""

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

MOST_OUTPUT = 32 << 20
_MOST_COMPLAINTS = 64 << 10
_BLOCK = 1 << 16
_PAUSE = 0.05
_SHORT_PAUSE = 0.0005
NO_START = "does not start"


class Ended(NamedTuple):
    """How a program ended, and what it printed."""

    status: int | None
    """Exit status, negative for a signal; None when it did not start or was stopped."""
    output: bytes = b""
    complaints: bytes = b""
    """The beginning of its standard error."""
    stopped: str | None = None
    """Why it was stopped or did not start."""


def run(argv: Sequence[str], *, env: Mapping[str, str], cwd: str, seconds: float) -> Ended:
    """Run a program without input, in its own process group, which is killed at the end."""
    try:
        with _interrupts_later() as interrupts:
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
    except (OSError, ValueError) as error:  # a NUL in an argument is a `ValueError`
        reason = error.strerror if isinstance(error, OSError) else error
        return Ended(None, stopped=f"{NO_START}: {reason}")
    reader = _Reading(process)
    try:
        if interrupts:
            raise KeyboardInterrupt
        stopped = reader.run(seconds)
    finally:
        reader.close()
    output, complaints = bytes(reader.output), bytes(reader.complaints)
    return Ended(None if stopped else process.returncode, output, complaints, stopped)


@contextmanager
def _interrupts_later() -> Generator[list[int]]:
    """Defer Ctrl-C while a program is starting, which would otherwise be orphaned."""
    collected: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield collected
        return
    usual = signal.signal(signal.SIGINT, lambda number, _: collected.append(number))
    try:
        yield collected
    finally:
        signal.signal(signal.SIGINT, usual)


class _Reading:
    """Reads both pipes until the process ends: a child of it may hold them open for hours."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.output = bytearray()
        self.complaints = bytearray()
        self._process = process
        self._pipes = selectors.DefaultSelector()
        assert process.stdout is not None
        assert process.stderr is not None
        for pipe, buffer in ((process.stdout, self.output), (process.stderr, self.complaints)):
            self._pipes.register(pipe, selectors.EVENT_READ, buffer)

    def run(self, seconds: float) -> str | None:
        """Read until the process has ended; returns why it must be stopped, or None."""
        pause = _SHORT_PAUSE
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0:
            has_ended = _has_ended(self._process)
            if not self._pipes.get_map():
                if has_ended:
                    return None
                time.sleep(min(pause, remaining))
                pause = min(2 * pause, _PAUSE)
                continue
            ready = self._pipes.select(0 if has_ended else min(remaining, _PAUSE))
            for key, _ in ready:
                self._read(key)
            if len(self.output) > MOST_OUTPUT:
                return f"printed more than {MOST_OUTPUT >> 20} MB"
            if has_ended and not ready:
                return None
        return f"did not end within {seconds:g} s"

    def _read(self, key: selectors.SelectorKey) -> None:
        block = os.read(key.fd, _BLOCK)
        if not block:
            self._pipes.unregister(key.fileobj)
            return
        buffer: bytearray = key.data
        if buffer is self.output or len(buffer) < _MOST_COMPLAINTS:
            buffer += block

    def close(self) -> None:
        """Kill what is left of the process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._pipes.close()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        self._process.wait()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Check without reaping: until the process is reaped, its pid cannot be reused."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return process.poll() is not None
    try:
        look = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, process.pid, look) is not None
    except ChildProcessError:  # already reaped
        return True
