"""Scrollable text that wraps, draws only visible rows and highlights matches."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip

from prong.search.passages import Highlighter
from prong.tui.widgets.drawing import Drawing
from prong.tui.widgets.lines import Line, Mark, ScreenRow, drawn, marks_in, rows_of, strip_of

_MANY = 300
"""Number of lines from which wrapping runs in a thread."""


_TOLD = 2.0
"""Seconds that "No match" is shown."""


def _nothing(_: str) -> list[tuple[int, int]]:
    return []


class Page(Drawing, can_focus=True):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "Up", show=False),
        Binding("down,j", "scroll_down", "Down", show=False),
        Binding("pageup,b", "page_up", "Page up", show=False),
        Binding("pagedown,space", "page_down", "Page down", show=False),
        Binding("home,g", "scroll_home", "Top", show=False),
        Binding("end,G", "scroll_end", "End", show=False),
        Binding("n", "next_match(1)", "Next match", show=False),
        Binding("N", "next_match(-1)", "Previous match", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 -- as every widget calls it
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self._shown: Sequence[Line] = ()
        """The lines of `_rows`; newer ones may still be wrapping."""
        self._rows: Sequence[ScreenRow] = ()
        self._columns = 0
        self._highlight: Highlighter = _nothing
        self._top: int | None = None
        """Line to scroll to after the layout."""
        self._matched: tuple[int, int] | None = None
        """Row of the last match jumped to, and the scroll offset at that time."""
        self._matching = asyncio.Lock()
        self._in_vain: tuple[int, int] | None = None
        """Direction and start row of the last search without a match."""
        self._told_until = 0.0
        self.drawn_rows = 0
        """Number of rows drawn so far, for tests that count work."""

    @property
    def lines(self) -> Sequence[Line]:
        return self._lines

    def fill(
        self, lines: Sequence[Line], *, highlight: Highlighter | None = None, top: int | None = 0
    ) -> None:
        """Replace the lines and scroll to line `top`. `highlight` finds matches in a text.

        Without `top`, keep the scroll position, because the lines were only updated.
        """
        self._lines = lines
        self._highlight = highlight or _nothing
        self._top = top
        self._lay_out()

    def on_resize(self) -> None:
        if self.scrollable_content_region.width != self._columns:
            # Keep the top line at the top.
            row = self.scroll_offset.y
            if self._top is None and row < len(self._rows):
                self._top = self._rows[row].line
            self._lay_out()

    def _lay_out(self) -> None:
        columns = self.scrollable_content_region.width
        if columns <= 0:
            return
        if len(self._lines) <= _MANY:
            self._take(self._lines, rows_of(self._lines, columns), columns)
        else:
            self.run_worker(partial(self._lay_out_beside, self._lines, columns), exclusive=True)

    async def _lay_out_beside(self, lines: Sequence[Line], columns: int) -> None:
        rows = await asyncio.to_thread(rows_of, lines, columns)
        if lines is self._lines:
            self._take(lines, rows, columns)

    def _take(self, lines: Sequence[Line], rows: Sequence[ScreenRow], columns: int) -> None:
        self._shown, self._rows, self._columns = lines, rows, columns
        self._matched = self._in_vain = None
        self.forget_drawn()
        self.virtual_size = Size(0, len(rows))
        target = self.scroll_offset.y
        if self._top is not None:
            target = next((n for n, row in enumerate(rows) if row.line >= (self._top or 0)), 0)
            self._top = None
        self.scroll_to(y=target, animate=False, immediate=True, force=True)
        self.refresh()
        # A scroll bar that appears or disappears changes the width without a resize event.
        self.call_after_refresh(self.on_resize)

    # -- matches -------------------------------------------------------------------------------

    def action_next_match(self, way: int) -> None:
        """Jump to the next or previous line with a match."""
        if self._rows:
            self.run_worker(partial(self._go_to_match, way), group="match")

    async def _go_to_match(self, way: int) -> None:
        # One key at a time: each jump starts where the previous one ended.
        async with self._matching:
            lines, start = self._shown, self._reached()
            if self._in_vain == (way, start) and time.monotonic() < self._told_until:
                return
            current = self._rows[start].line
            numbers = range(current + 1, len(lines)) if way > 0 else range(current - 1, -1, -1)
            # Without a match, this examines all lines.
            matching = await asyncio.to_thread(_first_match, lines, numbers, self._highlight)
            if lines is not self._shown:
                return
            if matching is None:
                self._tell_in_vain(way, start)
                return
            target = next(n for n, row in enumerate(self._rows) if row.line >= matching)
            self.scroll_to(y=target, animate=False, immediate=True, force=True)
            self._matched = (target, self.scroll_offset.y)

    def _tell_in_vain(self, way: int, start: int) -> None:
        """Say that there is no further match, once per notification while the key repeats."""
        self._in_vain, self._told_until = (way, start), time.monotonic() + _TOLD
        self.notify(f"No match {'below' if way > 0 else 'above'}", timeout=_TOLD)

    def _reached(self) -> int:
        """Return the row of the last match jumped to, or the first visible row after scrolling.

        They differ at the end of the text, which cannot scroll further.
        """
        top = self.scroll_offset.y
        if self._matched is not None and self._matched[1] == top:
            return self._matched[0]
        return min(top, len(self._rows) - 1)

    # -- drawing -------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        columns = self.scrollable_content_region.width
        row = y + self.scroll_offset.y
        base = self.rich_style
        if row >= len(self._rows):
            return strip_of([], columns, base)
        return self.kept((row, columns, base), lambda: self._drawn(row, columns, base))

    def _drawn(self, at: int, columns: int, base: Style) -> Strip:
        self.drawn_rows += 1
        number, start, end, indent = self._rows[at]
        line = self._shown[number]
        marks = [Mark(0, len(line.text), line.style)] if line.style else []
        marks += line.marks
        if line.is_prose:
            marks += marks_in(line.text)
        marks += [Mark(begin, stop, "match") for begin, stop in _matches(line, self._highlight)]
        visible = [Mark(begin - start, stop - start, style) for begin, stop, style in marks]
        segments = drawn(line.text[start:end], visible, self.styled, base)
        if indent:
            segments.insert(0, Segment(" " * indent, base))
        return strip_of(segments, columns, base)


def _matches(line: Line, highlight: Highlighter) -> list[tuple[int, int]]:
    return highlight(line.text) if line.text else []


def _first_match(
    lines: Sequence[Line], numbers: Iterable[int], highlight: Highlighter
) -> int | None:
    return next((n for n in numbers if _matches(lines[n], highlight)), None)
