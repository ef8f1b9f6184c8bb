"""Spinner on stderr with elapsed seconds, erased when the wait is over."""

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
"""Seconds before anything is shown, so that short waits show nothing."""


@contextmanager
def spinner(text: str) -> Generator[Callable[[str], None]]:
    """Show a spinner; yield a function that changes its text.

    Without a terminal, that function prints each text once.
    """
    stderr: Any = sys.stderr  # None if it was closed before prong started
    if stderr is None or not stderr.isatty():
        yield note
        return
    from threading import Event, Thread

    from prong.cli.progress import StatusLine

    line, over = StatusLine(), Event()
    start = time.monotonic()

    def say(other: str) -> None:
        nonlocal text
        text = other

    def spin() -> None:
        if over.wait(_DELAY):
            return
        for frame in itertools.cycle(_FRAMES):
            line.draw(f"{frame} {text} {time.monotonic() - start:.0f} s")
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
