"""Text to read, of which only what is seen is drawn, however long it is."""

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
from prong.tui.widgets.lines import Line, Mark, ScreenRow, drawn, rows_of, strip_of
from prong.tui.widgets.markup import marks_in

_MANY = 300
"""So many lines are broken beside the event loop, not in it."""


_TOLD = 2.0
"""Seconds that it is to be seen that there is no further match."""


def _nothing(_: str) -> list[tuple[int, int]]:
    """Is highlighted."""
    return []


class Page(Drawing, can_focus=True):
    """Lines, broken to fit."""

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
        """Those that the rows are of: others may still be broken."""
        self._rows: Sequence[ScreenRow] = ()
        self._columns = 0
        self._highlight: Highlighter = _nothing
        self._top: int | None = None
        """The line that is to be seen first, when there is a place for it."""
        self._matched: tuple[int, int] | None = None
        """The row that was gone to last, and the first one that was seen then."""
        self._matching = asyncio.Lock()
        self._in_vain: tuple[int, int] | None = None
        """The way, and the row, from which on there was no match the last time."""
        self._told_until = 0.0
        self.drawn_rows = 0
        """How many rows were drawn so far, for tests that count work."""

    @property
    def lines(self) -> Sequence[Line]:
        return self._lines

    def fill(
        self, lines: Sequence[Line], *, highlight: Highlighter | None = None, top: int | None = 0
    ) -> None:
        """Show other lines, from line `top` on. `highlight` tells what matches in a text.

        Without `top` the place stays: the lines are those from before, and somebody reads them.
        """
        self._lines = lines
        self._highlight = highlight or _nothing
        self._top = top
        self._lay_out()

    def on_resize(self) -> None:
        if self.scrollable_content_region.width != self._columns:
            # What was at the top stays there.
            at = self.scroll_offset.y
            if self._top is None and at < len(self._rows):
                self._top = self._rows[at].line
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
        at = self.scroll_offset.y
        if self._top is not None:
            at = next((n for n, row in enumerate(rows) if row.line >= (self._top or 0)), 0)
            self._top = None
        self.scroll_to(y=at, animate=False, immediate=True, force=True)
        self.refresh()
        # A scroll bar that comes or goes changes the width, and nobody tells of that.
        self.call_after_refresh(self.on_resize)

    # -- matches -------------------------------------------------------------------------------

    def action_next_match(self, way: int) -> None:
        """Go to the next line with a match, or to the one before."""
        if self._rows:
            self.run_worker(partial(self._go_to_match, way), group="match")

    async def _go_to_match(self, way: int) -> None:
        # One key after the other: each goes on from where the one before it went.
        async with self._matching:
            shown, start = self._shown, self._reached()
            if self._in_vain == (way, start) and time.monotonic() < self._told_until:
                return
            here = self._rows[start].line
            numbers = range(here + 1, len(shown)) if way > 0 else range(here - 1, -1, -1)
            # Where there is none, all lines are looked at.
            found = await asyncio.to_thread(_first_match, shown, numbers, self._highlight)
            if shown is not self._shown:
                return
            if found is None:
                self._tell_in_vain(way, start)
                return
            at = next(n for n, row in enumerate(self._rows) if row.line >= found)
            self.scroll_to(y=at, animate=False, immediate=True, force=True)
            self._matched = (at, self.scroll_offset.y)

    def _tell_in_vain(self, way: int, start: int) -> None:
        """Once for as long as it is to be seen, however long the key is held."""
        self._in_vain, self._told_until = (way, start), time.monotonic() + _TOLD
        self.notify(f"No match {'below' if way > 0 else 'above'}", timeout=_TOLD)

    def _reached(self) -> int:
        """The row of the match that was gone to, until somebody scrolls; else the first one seen.

        The two differ at the end of the text, which does not scroll any further.
        """
        top = self.scroll_offset.y
        if self._matched is not None and self._matched[1] == top:
            return self._matched[0]
        return min(top, len(self._rows) - 1)

    # -- drawing -------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        columns = self.scrollable_content_region.width
        at = y + self.scroll_offset.y
        base = self.rich_style
        if at >= len(self._rows):
            return strip_of([], columns, base)
        return self.kept((at, columns, base), lambda: self._drawn(at, columns, base))

    def _drawn(self, at: int, columns: int, base: Style) -> Strip:
        self.drawn_rows += 1
        number, start, end, indent = self._rows[at]
        one = self._shown[number]
        marks = [Mark(0, len(one.text), one.style)] if one.style else []
        marks += one.marks
        if one.is_prose:
            marks += marks_in(one.text)
        marks += [Mark(begin, stop, "match") for begin, stop in _matches(one, self._highlight)]
        here = [Mark(begin - start, stop - start, style) for begin, stop, style in marks]
        segments = drawn(one.text[start:end], here, self.styled, base)
        if indent:
            segments.insert(0, Segment(" " * indent, base))
        return strip_of(segments, columns, base)


def _matches(line: Line, highlight: Highlighter) -> list[tuple[int, int]]:
    return highlight(line.text) if line.text else []


def _first_match(
    lines: Sequence[Line], numbers: Iterable[int], highlight: Highlighter
) -> int | None:
    return next((n for n in numbers if _matches(lines[n], highlight)), None)
