"""Progress on stderr for long jobs, erased when done: a bar, or a spinner."""

import itertools
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Event, Thread

from prong.cli.output import StatusLine, is_terminal, note, patience
from prong.model.search import IndexProgress, ignore_progress

_BAR = 20
_MEGABYTE = 1_000_000
_PAUSE = 0.1
"""Seconds between updates."""
_SETTLED = 1.0
"""Seconds before a rate is shown: early rates are unreliable."""
_NAMES = {"sessions": "reading sessions", "meaning": "embedding"}
_MORE = "more sessions"
"""Label for another agent's sessions: their number is unknown until the first agent is done."""
_FRAMES = r"-\|/"
_DELAY = 0.4
"""Seconds before a spinner is shown, so that short waits show nothing."""


class ProgressBar:
    """A bar with rate and time left."""

    def __init__(
        self,
        draw: Callable[[str], None],
        *,
        delay: float = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Call `draw` to replace the line; draw nothing during the first `delay` seconds."""
        self._draw = draw
        self._clock = clock
        self._next = clock() + delay
        self._phase = ""
        self._begun = 0.0
        self._first = 0
        self._before = 0
        """Amount done when the total last grew; the bar starts over there."""
        self._last = (0, 0)
        self._drawn = False

    def __call__(self, now: IndexProgress) -> None:
        clock = self._clock()
        if now.phase != self._phase:
            # Cached entries do not count for the rate.
            self._phase, self._begun, self._first = now.phase, clock, _amount(now)[0]
            self._before, self._last = 0, (0, 0)
        done, total = _amount(now)
        if 0 < self._last[1] < total:
            self._before = self._last[0]
        self._last = (done, total)
        if clock < self._next and (now.done < now.total or not self._drawn):
            return
        self._next = clock + _PAUSE
        self._drawn = True
        self._draw(self._line(now, clock - self._begun))

    def _line(self, now: IndexProgress, seconds: float) -> str:
        name = _MORE if self._before and now.phase == "sessions" else _NAMES[now.phase]
        in_bytes = now.bytes_done > 0 or now.bytes_total > 0
        done, total = _amount(now)
        rate = (done - self._first) / seconds if seconds >= _SETTLED else 0.0
        done, total = done - self._before, total - self._before
        parts = [name]
        if total >= done and total:
            filled = int(done / total * _BAR)
            parts = [f"{name} [{'#' * filled}{'.' * (_BAR - filled)}] {done / total:4.0%}"]
        parts.append(_told(done, total, in_bytes=in_bytes))
        if rate > 0:
            speed = rate / _MEGABYTE if in_bytes else rate
            unit = " MB/s" if in_bytes else "/s"
            parts.append(f"{speed:,.0f}{unit}" if speed >= 10 else f"{speed:.1f}{unit}")
            if total > done:
                parts.append(f"{duration((total - done) / rate)} left")
        return "  ".join(parts)


def _told(done: int, total: int, *, in_bytes: bool) -> str:
    """Format `25 of 100 MB`, without the total while it is unknown."""
    if in_bytes:
        done, total = done // _MEGABYTE, total // _MEGABYTE
    of = f" of {total:,}" if total >= done and total else ""
    return f"{done:,}{of}{' MB' if in_bytes else ''}"


def _amount(now: IndexProgress) -> tuple[int, int]:
    """Return what is done and the total; in bytes if known, because files differ in size."""
    if now.bytes_done or now.bytes_total:
        return now.bytes_done, now.bytes_total
    return now.done, now.total


def duration(seconds: float) -> str:
    """Format as `8 s`, `3 min`, `2 h` or `5 d`."""
    for unit, size, up_to in (("s", 1, 100), ("min", 60, 100), ("h", 3600, 48)):
        if seconds < size * up_to:
            return f"{round(seconds / size)} {unit}"
    return f"{round(seconds / 86400)} d"


@contextmanager
def progress(
    delay: float = 0, text: str = "reading sessions ..."
) -> Generator[Callable[[IndexProgress], None]]:
    """Yield a progress callback that draws a bar. Silent without a terminal.

    Show `text` if nothing has been drawn after a second.
    """
    with patience(text) as line:
        yield ProgressBar(line.draw, delay=delay) if line else ignore_progress


@contextmanager
def spinner(text: str) -> Generator[Callable[[str], None]]:
    """Show a spinner with elapsed seconds; yield a function that changes its text.

    Without a terminal, that function prints each text once.
    """
    if not is_terminal(sys.stderr):
        yield note
        return
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
