"""How these tests use the terminal UI: keys are pressed, and the screen is read."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual._context import visible_screen_stack
from textual.pilot import Pilot
from textual.widgets import Input

from prong.app import App
from prong.tui import ui as program
from prong.tui.screens.view import MainScreen, Wish
from prong.tui.ui import ProngUi

PATIENCE = 60.0
WIDE = (140, 40)
NARROW = (80, 24)


class Driven(ProngUi):
    """Notes what is wished for."""

    CSS_PATH = Path(program.__file__).with_name("styles.tcss")

    def __init__(self, query: str = "") -> None:
        with App() as app:
            super().__init__(app.settings, agents=list(app.stores), query=query)
        self.wishes: list[Wish] = []

    def on_main_screen_wished(self, event: MainScreen.Wished) -> None:
        self.wishes.append(event.wish)

    @property
    def looked_at(self) -> MainScreen:
        assert isinstance(self.screen, MainScreen)
        return self.screen


class Person:
    """Somebody in front of the screen."""

    def __init__(self, ui: Driven, pilot: Pilot[Any]) -> None:
        self.ui = ui
        self.pilot = pilot

    @property
    def screen(self) -> str:
        """What is on the screen, line by line."""
        # As Textual itself does before it renders. Without it a dialog is rendered without the
        # screen below it, and Textual caches that.
        ui: Any = self.ui  # Textual leaves this list partly untyped
        visible_screen_stack.set(ui._background_screens)
        strips = self.ui.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def type(self, text: str) -> None:
        await self.press(*text)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, self.screen
            await self.pilot.pause(0.02)

    async def sees(self, *texts: str) -> None:
        """Wait until all of it is on the screen."""
        await self.until(lambda: all(text in self.screen for text in texts))

    async def sees_sessions(self) -> None:
        """Wait until the sessions are listed and counted."""
        await self.until(lambda: re.search(r"\d sessions?\b", self.screen))

    async def sees_no(self, *texts: str) -> None:
        """Wait until none of it is."""
        await self.until(lambda: not any(text in self.screen for text in texts))

    async def ready(self) -> None:
        """A blinking cursor is seen in one picture and not in the next."""
        for field in self.ui.screen.query(Input):
            field.cursor_blink = False

    def line(self, text: str) -> str:
        """The line of the screen that has the text."""
        return next(line for line in self.screen.splitlines() if text in line)


def drive(
    story: Callable[[Person], Awaitable[None]],
    *keys: str,
    size: tuple[int, int] = WIDE,
    ui: Driven | None = None,
) -> None:
    """Press these keys, then go through the story."""
    shown = ui or Driven()

    async def told() -> None:
        async with shown.run_test(size=size, notifications=True) as pilot:
            person = Person(shown, pilot)
            await person.press(*keys)
            await story(person)

    try:
        asyncio.run(told())
    finally:
        shown.close()
