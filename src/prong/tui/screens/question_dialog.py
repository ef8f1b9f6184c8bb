"""Yes/no dialog."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Footer, Static

from prong.tui.screens.dialog import Dialog
from prong.views.text import clean


class QuestionDialog(Dialog[bool]):
    """Dialog with two buttons: `y` or Enter means yes, `n` or Escape no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape", "answer(False)", "No"),
        Binding("enter", "answer(True)", "Yes", show=False),
        Binding("left,right", "app.focus_next", "Other button", show=False),
    ]

    def __init__(self, question: str, *, yes: str = "Yes", no: str = "No") -> None:
        super().__init__()
        self._question = clean(question)
        self._yes = yes
        self._no = no

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(self._question, markup=False, classes="dialog-title")
            with Horizontal(classes="dialog-buttons"):
                yield Button(self._yes, variant="primary", compact=True, id="yes")
                yield Button(self._no, compact=True, id="no")
        yield Footer(compact=True)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.action_answer(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 -- as a binding gives it
        self.answer(answer)
