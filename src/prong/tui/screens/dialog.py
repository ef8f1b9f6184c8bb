"""Base class of dialogs."""

from typing import TypeVar

from textual.screen import ModalScreen

T = TypeVar("T")


class Dialog(ModalScreen[T]):
    def answer(self, answer: T) -> None:
        """Close the dialog with an answer, once even if a key is pressed twice.

        Textual removes the topmost screen, which is another one the second time.
        """
        if self.is_current:
            self.dismiss(answer)
