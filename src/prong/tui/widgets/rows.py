"""A list to choose from, of which only what is seen is drawn, however long it is."""

from collections.abc import Hashable, Sequence
from typing import ClassVar, Protocol

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from prong.tui.widgets.drawing import Drawing
from prong.tui.widgets.lines import Line, Mark, drawn, strip_of
from prong.views.text import cells, cut

_CURSOR = "▌"
_LEAD = 2
"""Columns before a row: where the cursor is."""


class ListEntry(Protocol):
    """What a row of the list shows."""

    @property
    def key(self) -> Hashable:
        """What makes it the same one in another list."""
        ...

    def draw(self, columns: int) -> Sequence[Line]:
        """As many lines as every row has."""
        ...


class Rows(Drawing, can_focus=True):
    """Entries, one below the other; one of them is chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown,space", "page(1)", "Page down", show=False),
        Binding("home,g", "go(0)", "First", show=False),
        Binding("end,G", "go(-1)", "Last", show=False),
        Binding("enter", "choose", "Open", show=False),
    ]

    class Moved(Message):
        """Another entry has the cursor, or none has."""

        def __init__(self, rows: "Rows", entry: ListEntry | None) -> None:
            super().__init__()
            self.rows = rows
            self.entry = entry

        @property
        def control(self) -> "Rows":
            return self.rows

    class Chosen(Message):
        """Somebody pressed Enter on an entry, or clicked twice."""

        def __init__(self, rows: "Rows", entry: ListEntry) -> None:
            super().__init__()
            self.rows = rows
            self.entry = entry

        @property
        def control(self) -> "Rows":
            return self.rows

    def __init__(self, height: int = 1, *, id: str | None = None) -> None:  # noqa: A002 -- as every widget calls it
        super().__init__(id=id)
        self._height = height
        self._entries: Sequence[ListEntry] = ()
        self._at = 0
        self._is_moved = False
        """Somebody has moved the cursor."""
        self.drawn_rows = 0
        """How many rows were drawn so far, for who counts work."""

    # -- what is in it -------------------------------------------------------------------------

    @property
    def entries(self) -> Sequence[ListEntry]:
        return self._entries

    @property
    def chosen(self) -> ListEntry | None:
        return self._entries[self._at] if self._entries else None

    @property
    def position(self) -> int:
        return self._at

    def fill(self, entries: Sequence[ListEntry], *, keep: bool = True) -> None:
        """Show other entries. With `keep`, the cursor stays on its entry, and that on its line."""
        before = self.chosen
        line = self._at * self._height - self.scroll_offset.y
        was_seen = 0 <= line < max(self.scrollable_content_region.height, 1)
        self._entries = entries
        self.forget_drawn()
        at = next((n for n, one in enumerate(entries) if before and one.key == before.key), None)
        kept = keep and at is not None
        self._at = at if at is not None and keep else 0
        self._resize()
        if kept and self._is_moved and not was_seen:
            pass  # somebody looks elsewhere, with the wheel
        elif kept and self._is_moved:
            top = self._at * self._height - line
            self.scroll_to(y=max(top, 0), animate=False, immediate=True, force=True)
            self._show_cursor()
        else:
            # Nobody has chosen yet: the best ones are to be seen, and the cursor where it was.
            self.scroll_to(y=0, animate=False, immediate=True, force=True)
            self._show_cursor()
        self._is_moved = self._is_moved and kept
        self.refresh()
        if self.chosen is None or before is None or self.chosen.key != before.key or not kept:
            self.post_message(self.Moved(self, self.chosen))

    def move_to(self, key: Hashable) -> None:
        """Put the cursor on the entry of that key, if there is one."""
        at = next((n for n, one in enumerate(self._entries) if one.key == key), None)
        if at is not None:
            self._go(at)

    # -- moving --------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        self._go(self._at + by)

    def action_page(self, by: int) -> None:
        self._go(self._at + by * max(self.scrollable_content_region.height // self._height - 1, 1))

    def action_go(self, to: int) -> None:
        self._go(to if to >= 0 else len(self._entries) + to)

    def action_choose(self) -> None:
        if self.chosen is not None:
            self.post_message(self.Chosen(self, self.chosen))

    def _go(self, to: int) -> None:
        to = min(max(to, 0), max(len(self._entries) - 1, 0))
        if to == self._at:
            return
        self._at = to
        self._is_moved = True
        self._show_cursor()
        self.refresh()
        self.post_message(self.Moved(self, self.chosen))

    def _show_cursor(self) -> None:
        region = Region(0, self._at * self._height, 1, self._height)
        self.scroll_to_region(region, animate=False, immediate=True, force=True)

    def on_click(self, event: events.Click) -> None:
        at = (event.get_content_offset_capture(self).y + self.scroll_offset.y) // self._height
        if 0 <= at < len(self._entries):
            self._go(at)
            if event.chain > 1:
                self.action_choose()

    # -- drawing -------------------------------------------------------------------------------

    def on_resize(self) -> None:
        self._resize()
        self._show_cursor()

    def _resize(self) -> None:
        self.virtual_size = Size(0, len(self._entries) * self._height)

    def render_line(self, y: int) -> Strip:
        columns = self.scrollable_content_region.width
        at, part = divmod(y + self.scroll_offset.y, self._height)
        base = self.rich_style
        if at >= len(self._entries):
            return strip_of([], columns, base)
        is_here = at == self._at
        if is_here:
            base += self.styled("cursor")
        key = (at, part, is_here, columns, base)
        return self.kept(key, lambda: self._drawn(at, part, columns, base))

    def _drawn(self, at: int, part: int, columns: int, base: Style) -> Strip:
        is_here = at == self._at
        self.drawn_rows += 1
        lines = self._entries[at].draw(columns - _LEAD)
        one = lines[part] if part < len(lines) else Line()
        text = one.text
        if cells(text) > columns - _LEAD:
            text = cut(text, columns - _LEAD)
        marks = (*((Mark(0, len(text), one.style),) if one.style else ()), *one.marks)
        lead = _CURSOR if is_here else " "
        first = drawn(lead + " ", (Mark(0, 1, "name"),), self.styled, base)
        return strip_of([*first, *drawn(text, marks, self.styled, base)], columns, base)
