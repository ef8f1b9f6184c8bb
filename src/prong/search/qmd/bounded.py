"""Subprocess with limits on time and output, killed with its whole process group."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

MOST_OUTPUT = 32 << 20
NO_START = "does not start"
_MOST_COMPLAINTS = 64 << 10
_PAUSE = 0.05


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
    try:
        if interrupts:
            raise KeyboardInterrupt
        output, complaints, stopped = _read(process, seconds)
    finally:
        # Children keep the id of the group taken.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()
    status = None if stopped else process.returncode
    return Ended(status, output, complaints[:_MOST_COMPLAINTS], stopped)


def _read(process: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bytes, str | None]:
    """Read both pipes until the process ends: a child of it may hold them open for hours.

    Returns what was printed, and why the process must be stopped, or None.
    """
    deadline = time.monotonic() + seconds
    has_ended = False
    while True:
        try:
            return *process.communicate(timeout=_PAUSE), None
        except subprocess.TimeoutExpired as so_far:
            output, complaints = so_far.stdout or b"", so_far.stderr or b""
        if max(len(output), len(complaints)) > MOST_OUTPUT:
            return output, complaints, f"printed more than {MOST_OUTPUT >> 20} MB"
        if has_ended:
            return output, complaints, None
        # When it has ended, once more for what is left in the pipes.
        has_ended = _has_ended(process)
        if not has_ended and time.monotonic() > deadline:
            return output, complaints, f"did not end within {seconds:g} s"


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


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Check without reaping: until the process is reaped, its pid cannot be reused."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return process.poll() is not None
    with suppress(ChildProcessError):  # already reaped
        look = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, process.pid, look) is not None
    return True
