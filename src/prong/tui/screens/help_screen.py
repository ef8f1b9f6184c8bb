"""Help screen with all keys."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Static

from prong.tui.screens.dialog import Dialog
from prong.tui.widgets.lines import Line, line
from prong.tui.widgets.page import Page

_KEY = 18


class HelpScreen(Dialog[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "leave", "Close")]

    def __init__(self, parts: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> None:
        """`parts` are headings with their keys and descriptions."""
        super().__init__()
        self._parts = parts

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog"):
            yield Static("Keys", id="dialog-title")
            yield Page(id="keys")

    def on_mount(self) -> None:
        page = self.query_one("#keys", Page)
        page.fill(self._lines())
        page.focus()

    def _lines(self) -> list[Line]:
        lines: list[Line] = []
        for heading, keys in self._parts:
            lines += [Line(heading, "heading")]
            lines += [
                line((f"  {key:<{_KEY}}", "name"), description)._replace(hanging=2 + _KEY)
                for key, description in keys
            ]
            lines.append(Line())
        return lines

    def action_leave(self) -> None:
        self.answer(None)
