"""Keys that come twice, too early, or when somebody has gone elsewhere."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from textual import events
from textual.screen import Screen
from textual.widgets import Button

from prong.errors import Unavailable
from prong.tui.content.searching import Asked, Looked
from prong.tui.screens import sessions_screen
from prong.tui.screens.dialogs import QuestionDialog
from prong.tui.screens.fork_dialog import ForkDialog
from prong.tui.screens.help_screen import HelpScreen
from prong.tui.screens.page_screen import PageScreen
from prong.tui.screens.sessions_screen import SessionsScreen
from prong.tui.screens.tree_screen import TreeScreen
from prong.tui.screens.turns_screen import TurnsScreen
from tests.cli.shell import Shell
from tests.tui.driving import Person, drive

pytestmark = pytest.mark.usefixtures("no_index")


def stack(person: Person) -> list[type[Screen[Any]]]:
    """The screens, without the one that Textual itself has below all."""
    return [type(screen) for screen in person.ui.screen_stack[1:]]


async def press_at_once(person: Person, *keys: tuple[str, str]) -> None:
    """Keys that are there before the first of them is looked at."""
    for key, character in keys:
        person.ui.post_message(events.Key(key, character))
    await person.pilot.pause()


def slowly(monkeypatch: pytest.MonkeyPatch, text: str, act: Callable[[], object]) -> None:
    """A search for the text does this first."""
    look_up = sessions_screen.look_up

    def slow(*services: Any, fast: bool) -> Looked:
        asked: Asked = services[-1]
        if asked.text == text:
            act()
        return look_up(*services, fast=fast)

    monkeypatch.setattr(sessions_screen, "look_up", slow)


def test_enter_twice_opens_one_screen(samples: Shell) -> None:
    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        await press_at_once(person, ("enter", "\r"), ("enter", "\r"))
        await person.until(lambda: TurnsScreen in stack(person))
        await person.sees("turns ·")
        assert stack(person).count(TurnsScreen) == 1

    drive(story)


def test_a_button_pressed_twice_leaves_one_screen(samples: Shell) -> None:
    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        await person.press("alt+shift+f")
        await person.until(lambda: ForkDialog in stack(person))
        person.ui.screen.query_one("#cancel", Button).focus()
        await press_at_once(person, ("enter", "\r"), ("enter", "\r"))
        await person.until(lambda: ForkDialog not in stack(person))
        assert stack(person)[0] is SessionsScreen
        answers: list[bool | None] = []
        person.ui.push_screen(QuestionDialog("Really?"), answers.append)
        await person.sees("Really?")
        await press_at_once(person, ("enter", "\r"), ("enter", "\r"))
        await person.until(lambda: answers)
        assert answers == [True]
        assert stack(person)[0] is SessionsScreen

    drive(story)


def test_what_was_awaited_is_not_opened_elsewhere(
    samples: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    slowly(monkeypatch, "redis", lambda: gate.wait(60))

    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        await person.type("redis")
        await person.press("enter", "f3")
        await person.until(lambda: stack(person) == [TreeScreen])
        gate.set()
        await person.sees("in 2 trees")
        await person.press("f2")
        await person.sees("turns in 5 sessions")
        assert stack(person) == [SessionsScreen]

    drive(story)


def test_what_was_awaited_and_failed_is_not_opened_later(
    samples: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise Unavailable("locked")

    slowly(monkeypatch, "redis", fail)

    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        await person.type("redis")
        await person.press("enter")
        await person.sees("locked")
        await person.press("backspace")
        await person.sees("turns in 5 sessions")
        assert stack(person) == [SessionsScreen]

    drive(story)


def test_the_key_that_opened_it(samples: Shell) -> None:
    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        await person.press("f1")
        await person.until(lambda: HelpScreen in stack(person))
        await person.press("f1")
        await person.until(lambda: HelpScreen not in stack(person))
        await person.press("enter")
        await person.sees("turns ·")
        await person.press("t")
        await person.sees("Transcript  ")
        await person.press("t", "t", "d")
        await person.sees("Diff  ")
        assert stack(person).count(PageScreen) == 2

    drive(story)
