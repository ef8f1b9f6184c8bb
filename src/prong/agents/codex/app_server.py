"""A client for `codex app-server`, over JSON lines on standard input and output.

The server keeps every thread that it loads locked until it ends. So it runs for one job and ends
with the `with` block.
"""

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from prong.agents.argv import clean_environment
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
        self._unread = b""

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
                bufsize=0,
            )
        except OSError as error:
            self._complaints.close()
            raise self._failure(f"cannot be started: {error.strerror or error}") from error
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
            message = self._read(method, deadline)
            if message.get("id") != self._last_id or "method" in message:
                continue
            if "error" in message:
                data: Any = message["error"]
                reason = cast(dict[str, Any], data).get("message") if isinstance(data, dict) else ""
                raise Refused(f"codex: {reason or data}", argv=self.argv, method=method)
            result: Any = message.get("result")
            return cast(dict[str, Any], result) if isinstance(result, dict) else {}

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
        except BrokenPipeError:
            raise self._failure("ended before it was asked") from None

    def _read(self, method: str, deadline: float) -> dict[str, Any]:
        while True:
            line, newline, rest = self._unread.partition(b"\n")
            if not newline:
                block = self._block(deadline)
                if block is None:
                    raise self._failure(f"did not answer {method}")
                if not block:
                    raise self._failure(f"ended at {method}")
                self._unread += block
                continue
            self._unread = rest
            try:
                message: Any = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                return cast(dict[str, Any], message)

    def _block(self, deadline: float) -> bytes | None:
        """Read the next bytes: b"" at the end of the output, None on timeout."""
        assert self._process.stdout is not None
        seconds = max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        return self._process.stdout.read(1 << 16) if ready else None

    def _end(self) -> None:
        """Wait for the server to exit by itself; only then are its threads unlocked."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.close()
            deadline = time.monotonic() + _CLOSING
            while self._block(deadline):
                pass
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
        except BaseException:
            process.kill()
            raise
        finally:
            process.wait()
            process.stdout.close()
            self._complaints.close()

    def _failure(self, what: str) -> External:
        """Build an error with the exit status and the end of the error output."""
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
