"""Commands in child processes that end, or stand still, in the middle of what they do."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_NURSERY = Path(__file__).with_name("nursery.py")


@dataclass(frozen=True)
class Ended:
    """How a command ended: with a status, or by a signal."""

    status: int | None
    signal: int | None
    stdout: str
    stderr: str

    @property
    def problem(self) -> dict[str, Any]:
        """The error that `--json` printed."""
        assert self.stdout == "", self.stdout
        found: dict[str, Any] = json.loads(self.stderr)
        return found


class Child:
    """A command that runs, or stands still."""

    def __init__(self, children: "Children", answer: dict[str, Any], output: Path) -> None:
        self._children = children
        self._answer = answer
        self._output = output

    @property
    def is_stopped(self) -> bool:
        return "stopped" in self._answer

    def go_on(self, number: int = signal.SIGCONT) -> None:
        """Let it run on to its next stop or its end."""
        assert self.is_stopped, self.ended()
        self._answer = self._children.ask({"pid": self._answer["pid"], "send": number})

    def ended(self) -> Ended:
        while self.is_stopped:
            self.go_on()
        return Ended(
            self._answer.get("status"),
            self._answer.get("signal"),
            self._output.with_suffix(".out").read_text(),
            self._output.with_suffix(".err").read_text(),
        )


class Children:
    """Runs `prong ...` in processes of their own, with a signal at a chosen write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._nursery = subprocess.Popen(
            [sys.executable, str(_NURSERY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._nursery.stdin
        assert self._nursery.stdout
        self._nursery.stdin.write(json.dumps(request) + "\n")
        self._nursery.stdin.flush()
        answer: dict[str, Any] = json.loads(self._nursery.stdout.readline())
        return answer

    def start(
        self,
        *words: str,
        at: int | str | None = None,
        signal: int | None = signal.SIGSTOP,
        lasting: bool = False,
        largest_file: int | None = None,
    ) -> Child:
        """Run a command until it ends or stops.

        `at` is the number of a write, or the name of a step. Without a signal the write fails;
        with `lasting`, all that come after it as well.
        """
        self._count += 1
        output = self._folder / str(self._count)
        request = {
            "words": words,
            "env": dict(os.environ),
            "cwd": str(Path.cwd()),
            "stdout": str(output.with_suffix(".out")),
            "stderr": str(output.with_suffix(".err")),
            "at": at,
            "signal": signal and int(signal),
            "lasting": lasting,
            "largest_file": largest_file,
        }
        return Child(self, self.ask(request), output)

    def run(self, *words: str, **fault: Any) -> Ended:
        return self.start(*words, **fault).ended()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._nursery.communicate()
