"""Waiting for an agent, visibly: one line on stderr with the seconds, gone when it is over."""

import itertools
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from prong.cli.output import note

_FRAMES = r"-\|/"
_PAUSE = 0.1
_DELAY = 0.4
"""Seconds before anything is shown: what is over at once needs no word."""


@contextmanager
def spinner(text: str) -> Generator[Callable[[str], None]]:
    """Say what is waited for while somebody looks; what comes back says something else instead.

    Where stderr is no terminal, only that is said, once.
    """
    stderr: Any = sys.stderr  # None when it was closed before we began
    if stderr is None or not stderr.isatty():
        yield note
        return
    from threading import Event, Thread

    from prong.cli.progress import StatusLine

    line, over = StatusLine(), Event()
    begun = time.monotonic()

    def say(other: str) -> None:
        nonlocal text
        text = other

    def spin() -> None:
        if over.wait(_DELAY):
            return
        for frame in itertools.cycle(_FRAMES):
            line.draw(f"{frame} {text} {time.monotonic() - begun:.0f} s")
            if over.wait(_PAUSE):
                return

    thread = Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield say
    finally:
        over.set()
        thread.join()
        line.clear()
