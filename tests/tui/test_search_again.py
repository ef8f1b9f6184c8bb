"""What the sentence model found stays when the index has been brought up to date."""

import pytest

from prong.app import App
from prong.tui.screens.sessions_screen import SessionsScreen
from prong.tui.widgets.rows import Rows
from tests.cli.shell import Shell
from tests.tui.driving import Person, drive

pytestmark = pytest.mark.usefixtures("no_index")

TEXT = "share the request counters"


def test_what_the_model_found_stays(samples: Shell) -> None:
    with App() as app:
        app.search.index()

    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        await person.type(TEXT)
        screen = person.ui.screen
        assert isinstance(screen, SessionsScreen)
        # Not the answer to the beginning of it.
        await person.until(lambda: screen._looked is not None and screen._looked.asked.text == TEXT)
        by_words = screen._by_words
        await person.until(
            lambda: tuple(one.key for one in screen.query_one(Rows).entries) != by_words
        )
        better = screen._looked
        screen._hear({"phase": "searchable"})
        for _ in range(10):
            await person.pilot.pause(0.05)
        assert screen._looked is better

    drive(story)
