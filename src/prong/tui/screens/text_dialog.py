"""Dialog for a line of text, such as a prompt or a name."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Footer, Input, Static

from prong.tui.screens.dialog import Dialog
from prong.tui.widgets.text_line import TextLine
from prong.views.text import clean


class TextDialog(Dialog[str | None]):
    """Dialog with a text field: Enter returns the text, Escape None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "give", "OK", priority=True),
        Binding("escape", "leave", "Cancel"),
    ]

    def __init__(self, title: str, text: str = "", *, placeholder: str = "") -> None:
        super().__init__()
        self._title = clean(title)
        self._text = text
        self._placeholder = placeholder

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._title, markup=False, classes="dialog-title")
            yield TextLine(self._text, compact=True, placeholder=self._placeholder, id="text")
        yield Footer(compact=True)

    def action_give(self) -> None:
        self.answer(self.query_one("#text", Input).value)

    def action_leave(self) -> None:
        self.answer(None)
