"""What dialogs have in common: they are left once, with an answer."""

from typing import TypeVar

from textual.screen import ModalScreen

T = TypeVar("T")


class Dialog(ModalScreen[T]):
    def answer(self, answer: T) -> None:
        """Leave it. Keys that were pressed twice are answered once.

        Textual takes away whichever screen is on top, which is another one the second time.
        """
        if self.is_current:
            self.dismiss(answer)
