"""The index updater as a child process of the UI."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any

Step = dict[str, Any]
ENDED: Step = {"phase": "ended"}
"""Sent as the last step, however the process ended."""
_PATIENCE = 5.0
"""Seconds that the process gets to end."""


class IndexProcess:
    """Runner of `prong.tui.indexer`, one process at a time."""

    def __init__(self, told: Callable[[Step], None]) -> None:
        """`told` gets each step, in the event loop."""
        self._told = told
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Update the index, unless an update is running."""
        if self._process is not None:
            return
        process = self._process = subprocess.Popen(
            # -P: without it, Python imports modules from the folder that it runs in.
            [sys.executable, "-P", "-m", "prong.tui.indexer"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        loop = asyncio.get_running_loop()

        def tell(step: Step) -> None:
            with suppress(RuntimeError):  # the event loop has ended
                loop.call_soon_threadsafe(self._hear, process, step)

        Thread(target=_listen, args=(process, tell), name="index", daemon=True).start()

    def _hear(self, process: "subprocess.Popen[bytes]", step: Step) -> None:
        if process is self._process:
            if step == ENDED:
                self._process = None
            self._told(step)

    def end(self) -> None:
        """Stop the update; finished work is kept."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_PATIENCE)


def _listen(process: "subprocess.Popen[bytes]", tell: Callable[[Step], None]) -> None:
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            with suppress(ValueError):
                tell(json.loads(line))
    process.wait()
    tell(ENDED)
