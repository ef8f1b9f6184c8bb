"""A client of `codex app-server`: JSON lines over stdin and stdout."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from prong.testing.wait import PATIENCE, wait_until
from tests.drivers.codex_cli import CodexCli


class RpcError(Exception):
    """The app-server refused a call."""


class CodexServer:
    """A running app-server. Threads it has loaded stay locked until the `with` block ends."""

    def __init__(self, cli: CodexCli, cwd: Path) -> None:
        cli.trust(cwd)
        self.cwd = cwd
        self._process = subprocess.Popen(
            [str(cli.program), "app-server"],
            cwd=cwd,
            env=cli.env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._messages: list[dict[str, Any]] = []
        self._arrived = threading.Condition()
        self._last_id = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.call(
            "initialize",
            clientInfo={"name": "prong-test", "version": "0"},
            capabilities={"experimentalApi": True},
        )
        self._write({"method": "initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the server and wait for it: after this no thread is locked by it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(10)
        self._process.stdout.close()

    def kill(self) -> None:
        """End the server at once (SIGKILL), as a crash would."""
        self._process.kill()
        self._process.wait()

    # -- protocol -----------------------------------------------------------------------------

    def call(self, method: str, timeout: float = PATIENCE, **params: Any) -> dict[str, Any]:
        """One call, until its answer is there."""
        self._last_id += 1
        number = self._last_id
        self._write({"id": number, "method": method, "params": params})
        answer = self._wait(
            lambda m: m.get("id") == number and "method" not in m, 0, timeout, method
        )
        if "error" in answer:
            raise RpcError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def seen(self) -> int:
        """How many messages have arrived; a starting point for `wait_event`."""
        with self._arrived:
            return len(self._messages)

    def wait_event(
        self,
        method: str,
        wanted: Callable[[dict[str, Any]], bool] = bool,
        since: int = 0,
        timeout: float = PATIENCE,
    ) -> dict[str, Any]:
        """The params of the first such notification after `since`."""
        message = self._wait(
            lambda m: m.get("method") == method and wanted(m.get("params") or {}),
            since,
            timeout,
            method,
        )
        params: dict[str, Any] = message.get("params") or {}
        return params

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for row in self._process.stdout:
            message: dict[str, Any] = json.loads(row)
            with self._arrived:
                self._messages.append(message)
                self._arrived.notify_all()

    def _wait(
        self, wanted: Callable[[dict[str, Any]], bool], since: int, timeout: float, what: str
    ) -> dict[str, Any]:
        deadline = time.monotonic() + timeout
        with self._arrived:
            while True:
                for message in self._messages[since:]:
                    if wanted(message):
                        return message
                left = deadline - time.monotonic()
                if left <= 0 or self._process.poll() is not None:
                    raise TimeoutError(f"the app-server did not send {what}")
                self._arrived.wait(min(left, 1))

    # -- threads and turns ----------------------------------------------------------------------

    def start_thread(self) -> str:
        """A new thread; its id."""
        return str(self.call("thread/start", cwd=str(self.cwd))["thread"]["id"])

    def resume_thread(self, thread_id: str) -> None:
        """Load a thread and take its lock."""
        self.call("thread/resume", threadId=thread_id, cwd=str(self.cwd), excludeTurns=True)

    def turn_ids(self, thread_id: str) -> list[str]:
        """The ids of the thread's turns, the oldest first, inherited ones included."""
        page = self.call("thread/turns/list", threadId=thread_id, sortDirection="asc")
        return [str(turn["id"]) for turn in page["data"]]

    def fork_thread(self, thread_id: str, last_turn: str | None = None) -> str:
        """Fork after a turn (or after the last one); the id of the new thread."""
        params: dict[str, Any] = {"threadId": thread_id, "cwd": str(self.cwd), "excludeTurns": True}
        if last_turn:
            params["lastTurnId"] = last_turn
        return str(self.call("thread/fork", **params)["thread"]["id"])

    def revert_thread(self, thread_id: str, before_turn: str) -> None:
        """Take back this turn and all later ones. The thread must be loaded."""
        self.call("thread/revert", threadId=thread_id, beforeTurnId=before_turn)

    def start_turn(self, thread_id: str, prompt: str, **options: Any) -> str:
        """Begin a turn, with more parameters of `turn/start` where needed; its id."""
        given: dict[str, Any] = {"input": [{"type": "text", "text": prompt}]} | options
        return str(self.call("turn/start", threadId=thread_id, **given)["turn"]["id"])

    def finish_turn(self, turn_id: str, timeout: float = PATIENCE) -> str:
        """Wait for the end of a turn; its status (completed, interrupted, failed)."""
        params = self.wait_event(
            "turn/completed", lambda params: params["turn"]["id"] == turn_id, timeout=timeout
        )
        return str(params["turn"]["status"])

    def turn(self, thread_id: str, prompt: str, **options: Any) -> str:
        """One whole turn; its id."""
        turn_id = self.start_turn(thread_id, prompt, **options)
        self.finish_turn(turn_id)
        return turn_id

    def steer(self, thread_id: str, turn_id: str, prompt: str) -> None:
        """Put a user message into a running turn."""
        self.call(
            "turn/steer",
            threadId=thread_id,
            expectedTurnId=turn_id,
            input=[{"type": "text", "text": prompt}],
        )

    def wait_path(self, path: Path, timeout: float = PATIENCE) -> None:
        """Wait until a tool has made this file."""
        wait_until(path.exists, timeout, str(path))

    def interrupt(self, thread_id: str, turn_id: str) -> None:
        """Interrupt a running turn and wait for its end."""
        self.call("turn/interrupt", threadId=thread_id, turnId=turn_id)
        self.finish_turn(turn_id)

    def compact(self, thread_id: str) -> None:
        """Compact the thread and wait until that is done."""
        since = self.seen()
        self.call("thread/compact/start", threadId=thread_id)
        self.wait_event(
            "turn/completed", lambda params: params.get("threadId") == thread_id, since=since
        )
