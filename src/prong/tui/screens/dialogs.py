"""Small dialogs: a question, a line of text."""

from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Footer, Static

from prong.tui.widgets.form import TextLine
from prong.views.text import clean

T = TypeVar("T")


class Dialog(ModalScreen[T]):
    def answer(self, answer: T) -> None:
        """Close the dialog with an answer, once even if a key is pressed twice.

        Textual removes the topmost screen, which is another one the second time.
        """
        if self.is_current:
            self.dismiss(answer)


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
        self.answer(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 -- as a binding gives it
        self.answer(answer)


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
        self.answer(self.query_one("#text", TextLine).value)

    def action_leave(self) -> None:
        self.answer(None)
