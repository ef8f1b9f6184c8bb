"""A client for `codex app-server`, over JSON lines on standard input and output.

The server keeps every thread that it loads locked until it ends. So it runs for one job and ends
with the `with` block.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from types import TracebackType
from typing import IO, Any, Self, cast

from prong.agents.argv import clean_environment
from prong.agents.common import as_dict
from prong.errors import External

TIMEOUT = 30.0
"""Timeout in seconds of one call."""
_CLOSING = 5.0
_COMPLAINTS = 2000


class Refused(External):
    """An error that the server returned for a call."""


class AppServer:
    """A running app-server for one configuration root."""

    def __init__(self, argv: Sequence[str], root: Path) -> None:
        self.argv = list(argv)
        self._root = root
        self._last_id = 0
        self._messages: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        """What the server says; None at the end of its output."""

    def __enter__(self) -> Self:
        # stderr goes to a file: nobody reads a pipe meanwhile, and a full one would block.
        self._complaints = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(
                self.argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                env=clean_environment({"CODEX_HOME": str(self._root.absolute())}),
            )
        except OSError as error:
            self._complaints.close()
            raise self._failure(f"cannot be started: {error.strerror or error}") from error
        Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()
        try:
            client = {"name": "prong", "version": "0"}
            self.call("initialize", clientInfo=client)
            self._write({"method": "initialized"})
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def call(self, method: str, timeout: float = TIMEOUT, **params: Any) -> dict[str, Any]:
        """Call a method and wait for its result, ignoring other messages."""
        self._last_id += 1
        self._write({"id": self._last_id, "method": method, "params": params})
        deadline = time.monotonic() + timeout
        while True:
            try:
                message = self._messages.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                raise self._failure(f"did not answer {method}") from None
            if message is None:
                raise self._failure(f"ended at {method}")
            if message.get("id") != self._last_id or "method" in message:
                continue
            if "error" in message:
                data = message["error"]
                reason = as_dict(data).get("message") or data
                raise Refused(f"codex: {reason}", argv=self.argv, method=method)
            return as_dict(message.get("result"))

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failure("ended before it was asked") from None

    def _listen(self, output: IO[bytes]) -> None:
        with output:
            for line in output:
                with suppress(ValueError):
                    if isinstance(message := json.loads(line), dict):
                        self._messages.put(cast(dict[str, Any], message))
        self._messages.put(None)

    def _end(self) -> None:
        """Wait for the server to exit by itself; only then are its threads unlocked."""
        assert self._process.stdin is not None
        try:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_CLOSING)
        finally:
            self._process.kill()
            self._process.wait()
            self._complaints.close()

    def _failure(self, what: str) -> External:
        status: int | None = None
        stderr = ""
        if not self._complaints.closed:
            # A server that closed its output is about to exit.
            with suppress(subprocess.TimeoutExpired):
                status = self._process.wait(1)
            self._complaints.seek(0, os.SEEK_END)
            self._complaints.seek(max(0, self._complaints.tell() - _COMPLAINTS))
            stderr = self._complaints.read().decode(errors="replace")
        return External(
            f"{' '.join(self.argv)} {what}",
            hint="prong doctor",
            argv=self.argv,
            status=status,
            stderr=stderr,
        )
