"""Progress line on stderr for long jobs, erased when done. Silent without a terminal."""

import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

import click

from prong.cli.output import styled
from prong.views.text import cells, cut

if TYPE_CHECKING:
    from prong.model.search import IndexProgress

_BAR = 20
_MEGABYTE = 1_000_000
_PAUSE = 0.1
"""Seconds between updates."""
_SETTLED = 1.0
"""Seconds before a rate is shown: early rates are unreliable."""
_NAMES = {"sessions": "reading sessions", "meaning": "embedding"}
_MORE = "more sessions"
"""Label for another agent's sessions: their number is unknown until the first agent is done."""
_UNKNOWN_WIDTH = 80
_PATIENCE_SECONDS = 1.0


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
        self.drawn = False

    def __call__(self, now: "IndexProgress") -> None:
        clock = self._clock()
        if now.phase != self._phase:
            # Cached entries do not count for the rate.
            self._phase, self._begun, self._first = now.phase, clock, _amount(now)[0]
            self._before, self._last = 0, (0, 0)
        done, total = _amount(now)
        if 0 < self._last[1] < total:
            self._before = self._last[0]
        self._last = (done, total)
        if clock < self._next and now.done < now.total:
            return
        if clock < self._next and not self.drawn:
            return
        self._next = clock + _PAUSE
        self.drawn = True
        self._draw(self._line(now, clock - self._begun))

    def _line(self, now: "IndexProgress", seconds: float) -> str:
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


def _amount(now: "IndexProgress") -> tuple[int, int]:
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
) -> Generator[Callable[["IndexProgress"], None]]:
    """Yield a progress callback that draws a bar. Silent without a terminal.

    Show `text` if nothing has been drawn after a second.
    """
    stderr: Any = sys.stderr  # None if it was closed before prong started
    if stderr is None or not stderr.isatty():
        yield lambda _: None
        return
    line = StatusLine()
    timer = Timer(_PATIENCE_SECONDS, line.begin, [text])
    timer.daemon = True
    timer.start()
    try:
        yield ProgressBar(line.draw, delay=delay)
    finally:
        timer.cancel()
        timer.join()
        line.clear()


class StatusLine:
    """The terminal line at the cursor."""

    def __init__(self) -> None:
        self._shown = 0
        self._lock = Lock()

    def begin(self, text: str) -> None:
        """Draw the text if the line is still empty."""
        if not self._shown:
            self.draw(text)

    def draw(self, text: str) -> None:
        # Keep the last column free: the cursor would move to the next line.
        text = cut(text, self._columns() - 1)
        with self._lock:
            padding = " " * max(self._shown - cells(text), 0)
            click.echo(f"\r{styled(text, dim=True)}{padding}", err=True, nl=False)
            self._shown = cells(text)

    def clear(self) -> None:
        if self._shown:
            # Also erase the `^C` that the terminal shows.
            columns = min(self._shown + len("^C"), self._columns())
            click.echo(f"\r{' ' * columns}\r", err=True, nl=False)

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(sys.stderr.fileno()).columns or _UNKNOWN_WIDTH
        except OSError:
            return _UNKNOWN_WIDTH
