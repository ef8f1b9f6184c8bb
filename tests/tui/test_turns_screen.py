"""The turns of a session, its transcript, and what a turn changed."""

import pytest
from textual.events import Key

from prong.app import App
from prong.setup.demo import Demo
from prong.tui.screens.fork_dialog import ForkDialog
from prong.tui.screens.page_screen import PageScreen
from prong.tui.screens.turns_screen import TurnsScreen
from prong.tui.widgets.page import Page
from prong.tui.widgets.rows import Rows
from tests.cli.shell import API, Shell
from tests.tui.driving import NARROW, WIDE, Driven, Person, drive

pytestmark = pytest.mark.usefixtures("no_index")


async def open_turns(person: Person, *, without_answer: bool = False) -> None:
    """As from the list of sessions, but of this one."""
    with App() as app:
        session = app.sessions.get(API)
    await person.sees_sessions()
    person.ui.push_screen(TurnsScreen(person.ui._lanes, session, without_answer=without_answer))
    await person.sees("turns ·")


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_turns_with_marks(demo: Demo, size: tuple[int, int]) -> None:
    async def story(person: Person) -> None:
        await open_turns(person)
        await person.sees("Rate limiting for the public API", "● code captured")
        lines = [line[:60] for line in person.screen.splitlines()[1:5]]
        assert [line[2:5] for line in lines] == ["●  ", "● Y", "●  ", "●≡ "]
        assert "+10 -11" in lines[1]
        # The last turn is where one goes on.
        assert lines[3].startswith("▌")
        await person.sees("> Document the limit in the README", "1 file changed, +7 -0")

    drive(story, size=size)


def test_turns_that_a_rewind_left(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await open_turns(person)
        await person.sees("1 abandoned by rewinds (A shows them)")
        await person.press("A")
        await person.sees("Forget Redis", "4a960d0d")
        await person.press("end")
        assert person.ui.looked_at.selection.point == f"claude:{API}@{_chosen(person)}"
        await person.press("F")
        await person.sees("the turn is on a branch abandoned by a rewind")
        await person.press("escape", "A")
        await person.sees_no("Forget Redis")

    drive(story)


def _preview(person: Person) -> list[str]:
    return [line.text for line in person.ui.screen.query_one("#preview", Page).lines]


def _chosen(person: Person) -> object:
    entry = person.ui.screen.query_one("#turns", Rows).chosen
    assert entry is not None
    return entry.key


def test_what_a_turn_changed(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await open_turns(person)
        await person.press("up", "d")
        await person.sees("Diff", "+18 -0 in 1 file", "+++ b/tests/conftest.py", "+import redis")
        await person.press("escape")
        await person.until(lambda: isinstance(person.ui.screen, TurnsScreen))

    drive(story)


def test_nothing_is_known_of_what_a_turn_changed(samples: Shell) -> None:
    async def story(person: Person) -> None:
        await open_turns(person)
        await person.sees("no code captured")
        await person.press("d")
        await person.sees("no code captured", "try:")

    drive(story)


def test_the_transcript_begins_with_the_turn(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await open_turns(person)
        await person.press("home", "down", "t")
        await person.until(lambda: isinstance(person.ui.screen, PageScreen))
        await person.sees("── turn 2 ──", "Keep the counters in Redis")
        assert "── turn 1 ──" not in person.screen
        await person.press("g")
        await person.sees("── turn 1 ──", "● Read", "● Edit")
        await person.press("G")
        await person.sees("Added a section with the headers that a client sees.")
        # A fork from here is one of the turn that it was opened at.
        assert person.ui.looked_at.selection.point is not None

    drive(story, size=NARROW)


def test_matches_are_gone_through_in_a_transcript(demo: Demo) -> None:
    async def story(person: Person) -> None:
        with App() as app:
            app.search.index(vectors=False)
        await person.type("sorted set")
        await person.sees("in 5 sessions", "one sorted set for each key")
        person.ui.screen.query_one(Rows).focus()
        await person.press("t")
        await person.until(lambda: isinstance(person.ui.screen, PageScreen))
        page = person.ui.screen.query_one(Page)
        await person.until(lambda: len(page.lines) > 10)
        await person.press("g", "n")
        await person.sees("one sorted set for each key")
        # The last screen does not scroll any further: what was found there is gone through, too.
        for _ in range(30):
            person.ui.post_message(Key("n", "n"))  # held down: nobody waits for what it does
        await person.sees("No match below")
        await person.pilot.pause()  # until all of them are done
        assert person.screen.count("No match below") == 1
        await person.press("g", "N")
        await person.sees("No match above")

    drive(story, size=NARROW)


def test_enter_forks(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await open_turns(person)
        await person.press("enter")
        await person.until(lambda: isinstance(person.ui.screen, ForkDialog))
        await person.sees("<4: Document the limit in the README>", "Cancel")

    drive(story)


def test_what_the_agent_answered_to_a_seed_is_not_shown_this_once(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await open_turns(person, without_answer=True)
        await person.press("home")
        await person.sees("> Add rate limiting to the public API")
        assert not any("A token bucket for each key" in text for text in _preview(person))
        await person.press("down")
        await person.sees("> Keep the counters in Redis")
        await person.press("escape")
        await person.sees_sessions()
        await open_turns(person)
        await person.press("home")
        await person.until(lambda: "A token bucket for each key" in "".join(_preview(person)))

    drive(story, ui=Driven())
