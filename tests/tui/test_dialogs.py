"""A text and a yes or no, asked for in a dialog."""

import pytest
from textual.screen import ModalScreen

from prong.tui.screens.dialogs import QuestionDialog, TextDialog
from tests.cli.shell import Shell
from tests.tui.driving import NARROW, Driven, Person, drive

pytestmark = pytest.mark.usefixtures("no_index")

NOTHING = "nothing"


def answer(dialog: ModalScreen[object], *keys: str, click: str | None = None) -> object:
    """What the dialog gives after these keys, or a click."""
    ui = Driven()
    given: list[object] = []

    async def story(person: Person) -> None:
        ui.push_screen(dialog, given.append)
        await person.sees("A [b]question[/b]?")
        await person.press(*keys)
        if click is not None:
            await person.pilot.click(click)
        await person.until(lambda: given)
        await person.until(lambda: ui.screen is not dialog)

    drive(story, size=NARROW, ui=ui)
    return given[0]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (("enter",), "old"),
        (("n", "e", "w", "enter"), "new"),
        (("end", "e", "r", "enter"), "older"),
        (("ctrl+u", "enter"), ""),
        (("n", "escape"), None),
    ],
)
def test_a_text(shell: Shell, keys: tuple[str, ...], text: str | None) -> None:
    assert answer(TextDialog("A [b]question[/b]?", "old"), *keys) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keys", "click", "is_yes"),
    [
        (("y",), None, True),
        (("enter",), None, True),
        (("n",), None, False),
        (("escape",), None, False),
        (("right", "enter"), None, False),
        ((), "#yes", True),
        ((), "#no", False),
    ],
)
def test_a_question(shell: Shell, keys: tuple[str, ...], click: str | None, is_yes: bool) -> None:
    assert answer(QuestionDialog("A [b]question[/b]?"), *keys, click=click) is is_yes  # type: ignore[arg-type]
