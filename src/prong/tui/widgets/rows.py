"""Selectable list that draws only its visible rows."""

from collections.abc import Hashable, Sequence
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from prong.model.sessions import Session
from prong.tui.widgets.drawing import Drawing
from prong.tui.widgets.lines import Line, Mark, drawn, strip_of
from prong.views.text import cells, cut

_CURSOR = "▌"
_LEAD = 2
"""Columns for the cursor."""


class ListEntry:
    """An entry of a list, and what actions apply to while it is selected."""

    key: Hashable
    """Identity of the entry when the list is refilled."""
    point: str | None = None
    """Reference to fork at; None if that is impossible."""
    session: Session | None = None
    turn_number: int | None = None

    def draw(self, columns: int) -> Sequence[Line]:
        """Draw the entry, with as many lines as every row has."""
        raise NotImplementedError


class Rows(Drawing, can_focus=True):
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
        """The cursor moved to another entry, or the list became empty."""

    class Chosen(Message):
        """An entry was opened with Enter or a double click."""

    def __init__(self, height: int = 1, *, id: str | None = None) -> None:  # noqa: A002 -- as every widget calls it
        super().__init__(id=id)
        self._height = height
        self._entries: Sequence[ListEntry] = ()
        self._at = 0
        self._is_moved = False
        """The user has moved the cursor."""
        self.drawn_rows = 0
        """Number of rows drawn so far, for tests that count work."""

    # -- entries -------------------------------------------------------------------------------

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
        """Replace the entries. With `keep`, the cursor stays on its entry and screen line."""
        before = self.chosen
        line = self._at * self._height - self.scroll_offset.y
        was_seen = 0 <= line < max(self.scrollable_content_region.height, 1)
        self._entries = entries
        self.forget_drawn()
        at = self._position(before.key) if before and keep else None
        kept = at is not None
        self._at = at or 0
        self._resize()
        self._is_moved = self._is_moved and kept
        # Leave the view alone if the user has scrolled away with the wheel.
        if was_seen or not self._is_moved:
            # Until the user chooses, show the best entries.
            top = max(self._at * self._height - line, 0) if self._is_moved else 0
            self.scroll_to(y=top, animate=False, immediate=True, force=True)
            self._show_cursor()
        self.refresh()
        if not kept:
            self.post_message(self.Moved())

    def move_to(self, key: Hashable) -> None:
        """Select the entry with this key, if there is one."""
        position = self._position(key)
        if position is not None:
            self._go(position)

    def _position(self, key: Hashable) -> int | None:
        return next((n for n, entry in enumerate(self._entries) if entry.key == key), None)

    # -- moving --------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        self._go(self._at + by)

    def action_page(self, by: int) -> None:
        self._go(self._at + by * max(self.scrollable_content_region.height // self._height - 1, 1))

    def action_go(self, to: int) -> None:
        self._go(to if to >= 0 else len(self._entries) + to)

    def action_choose(self) -> None:
        if self.chosen is not None:
            self.post_message(self.Chosen())

    def _go(self, to: int) -> None:
        to = min(max(to, 0), max(len(self._entries) - 1, 0))
        if to == self._at:
            return
        self._at = to
        self._is_moved = True
        self._show_cursor()
        self.refresh()
        self.post_message(self.Moved())

    def _show_cursor(self) -> None:
        region = Region(0, self._at * self._height, 1, self._height)
        self.scroll_to_region(region, animate=False, immediate=True, force=True)

    def on_click(self, event: events.Click) -> None:
        position = (event.get_content_offset_capture(self).y + self.scroll_offset.y) // self._height
        if 0 <= position < len(self._entries):
            self._go(position)
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
        index, part = divmod(y + self.scroll_offset.y, self._height)
        base = self.rich_style
        if index >= len(self._entries):
            return strip_of([], columns, base)
        is_here = index == self._at
        if is_here:
            base += self.styled("cursor")
        key = (index, part, is_here, columns, base)
        return self.kept(key, lambda: self._drawn(index, part, columns, base))

    def _drawn(self, at: int, part: int, columns: int, base: Style) -> Strip:
        is_here = at == self._at
        self.drawn_rows += 1
        lines = self._entries[at].draw(columns - _LEAD)
        line = lines[part] if part < len(lines) else Line()
        text = line.text
        if cells(text) > columns - _LEAD:
            text = cut(text, columns - _LEAD)
        marks = (Mark(0, len(text), line.style), *line.marks) if line.style else line.marks
        lead = _CURSOR if is_here else " "
        first = drawn(lead + " ", (Mark(0, 1, "name"),), self.styled, base)
        return strip_of([*first, *drawn(text, marks, self.styled, base)], columns, base)
