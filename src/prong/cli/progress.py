"""How far a long job is: one line on stderr, when that is a terminal, gone when the job is done."""

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
"""Seconds between two pictures: more often nobody reads it."""
_SETTLED = 1.0
"""Seconds before a rate is told: the first numbers are wild."""
_NAMES = {"sessions": "reading sessions", "meaning": "embedding"}
_MORE = "more sessions"
"""Those of another agent: how many there are is not known before it is their turn."""
_UNKNOWN_WIDTH = 80
_PATIENCE_SECONDS = 1.0


class ProgressBar:
    """Draws a bar with the rate and the time left."""

    def __init__(
        self,
        draw: Callable[[str], None],
        *,
        delay: float = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`draw` puts a text in the place of the one before; nothing is drawn before `delay`."""
        self._draw = draw
        self._clock = clock
        self._next = clock() + delay
        self._phase = ""
        self._begun = 0.0
        self._first = 0
        self._before = 0
        """How much was done when the last of it became known: a bar begins anew there."""
        self._last = (0, 0)
        self.drawn = False

    def __call__(self, now: "IndexProgress") -> None:
        clock = self._clock()
        if now.phase != self._phase:
            # What the cache knew already was not read at this rate.
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
            full = int(done / total * _BAR)
            parts = [f"{name} [{'#' * full}{'.' * (_BAR - full)}] {done / total:4.0%}"]
        parts.append(_told(done, total, in_bytes=in_bytes))
        if rate > 0:
            speed = rate / _MEGABYTE if in_bytes else rate
            unit = " MB/s" if in_bytes else "/s"
            parts.append(f"{speed:,.0f}{unit}" if speed >= 10 else f"{speed:.1f}{unit}")
            if total > done:
                parts.append(f"{duration((total - done) / rate)} left")
        return "  ".join(parts)


def _told(done: int, total: int, *, in_bytes: bool) -> str:
    """`25 of 100 MB`; without the total where that is not known yet."""
    if in_bytes:
        done, total = done // _MEGABYTE, total // _MEGABYTE
    of = f" of {total:,}" if total >= done and total else ""
    return f"{done:,}{of}{' MB' if in_bytes else ''}"


def _amount(now: "IndexProgress") -> tuple[int, int]:
    """Bytes where they are known: files differ in size."""
    if now.bytes_done or now.bytes_total:
        return now.bytes_done, now.bytes_total
    return now.done, now.total


def duration(seconds: float) -> str:
    """`8 s`, `3 min`, `2 h`, `5 d`."""
    for unit, size, up_to in (("s", 1, 100), ("min", 60, 100), ("h", 3600, 48)):
        if seconds < size * up_to:
            return f"{round(seconds / size)} {unit}"
    return f"{round(seconds / 86400)} d"


@contextmanager
def progress(
    delay: float = 0, text: str = "reading sessions ..."
) -> Generator[Callable[["IndexProgress"], None]]:
    """What to tell how far the job is, while it runs. Silent where nobody looks.

    The text stands there while there is nothing to tell, if that takes longer than a second.
    """
    stderr: Any = sys.stderr  # None when it was closed before we began
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
    """The line of a terminal that the cursor is in."""

    def __init__(self) -> None:
        self._shown = 0
        self._lock = Lock()

    def begin(self, text: str) -> None:
        """Draw it if nothing was drawn yet."""
        if not self._shown:
            self.draw(text)

    def draw(self, text: str) -> None:
        # The last column stays free: a cursor behind it would be in the next line.
        text = cut(text, self._columns() - 1)
        with self._lock:
            padding = " " * max(self._shown - cells(text), 0)
            click.echo(f"\r{styled(text, dim=True)}{padding}", err=True, nl=False)
            self._shown = cells(text)

    def clear(self) -> None:
        if self._shown:
            # With what the terminal shows for a Ctrl-C.
            columns = min(self._shown + len("^C"), self._columns())
            click.echo(f"\r{' ' * columns}\r", err=True, nl=False)

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(sys.stderr.fileno()).columns or _UNKNOWN_WIDTH
        except OSError:
            return _UNKNOWN_WIDTH
