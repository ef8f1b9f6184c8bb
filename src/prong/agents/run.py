"""Run an agent's program with a text on standard input, and read its output by line."""

from __future__ import annotations

import subprocess
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Self
from weakref import WeakSet

from prong.agents.argv import clean_environment
from prong.errors import Unavailable
from prong.model.forks import Launch

_KEPT_LINES = 20
_PATIENCE = 10


def environment(launch: Launch) -> dict[str, str]:
    """Return the environment for a launch."""
    return clean_environment(launch.env)


def completed(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, without input."""
    try:
        return subprocess.run(
            argv,
            cwd=cwd,
            env=clean_environment(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except OSError as error:
        message = f"{argv[0]} does not start: {error.strerror}"
        raise Unavailable(message, hint="prong doctor") from None


_alive: WeakSet[RunningProgram] = WeakSet()
_is_over = Event()


def end_all() -> None:
    """Terminate all running programs and prevent new ones, before this process exits.

    Callers that wait for a program see it end, and clean up.
    """
    _is_over.set()
    for running in list(_alive):
        running.end()


class RunningProgram:
    """A process fed and drained concurrently; leaving its `with` block terminates it."""

    def __init__(self, launch: Launch, text: str) -> None:
        try:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                launch.argv,
                cwd=launch.cwd,
                env=environment(launch),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise Unavailable(f"{launch.argv[0]} does not start: {error.strerror}") from None
        self._complaints: deque[str] = deque(maxlen=_KEPT_LINES)
        self._threads = [
            Thread(target=self._feed, args=(text,), daemon=True),
            Thread(target=self._listen, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        _alive.add(self)
        if _is_over.is_set():
            self.end()

    def end(self) -> None:
        """Terminate the process. May be called from any thread."""
        if self._process.poll() is None:
            self._process.terminate()

    def lines(self) -> Iterator[str]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield line.decode("utf-8", "replace")

    def wait(self) -> int:
        """Return the exit status after all output was read."""
        for thread in self._threads:
            thread.join()
        return self._process.wait()

    @property
    def complaints(self) -> str:
        """The last lines of its standard error."""
        return "".join(self._complaints)

    def _feed(self, text: str) -> None:
        assert self._process.stdin is not None
        # It may end before it has read everything; its exit status tells why.
        with suppress(OSError), self._process.stdin as stdin:
            stdin.write(text.encode("utf-8", "replace"))

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._complaints.append(line.decode("utf-8", "replace"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for thread in self._threads:
            thread.join(_PATIENCE)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
