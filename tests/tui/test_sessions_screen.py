"""Search as you type, filters, and what is seen beside the list."""

import json
import re
import threading
from typing import Any

import pytest
from textual.events import Paste
from textual.widgets import Input

from prong.app import App
from prong.session.listing import Listing, Scanner, SessionFilter
from prong.setup.demo import Demo
from prong.tui.content.preview import Preview, SessionReader
from prong.tui.screens.turns_screen import TurnsScreen
from prong.tui.widgets.form import Choice
from prong.tui.widgets.rows import Rows
from tests.cli.shell import API, PARSER, Shell
from tests.tui.driving import NARROW, WIDE, Driven, Person, drive

FRAME = {"ff5f57", "febc2e", "28c840", "c5c8c6"}
"""Colours of the window that is drawn around a picture of the screen."""


def found(person: Person) -> list[str]:
    """The first line of each entry."""
    rows = person.ui.screen.query_one("#found", Rows)
    return [entry.draw(60)[0].text for entry in rows.entries]


def test_sessions_newest_first_and_forks_together(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        first = [line[:34].rstrip() for line in found(person)]
        assert first[0] == "Rate limiting with a sliding windo"
        assert first[1] == "└ Rate limiting for the public API"
        assert first[3].startswith("└ Write a parser for")
        assert first[4].startswith("Why is the product search slow")
        await person.sees("fork of 60309e1e@2", "── first turn (1) ──", "── all prompts ──")

    drive(story, size=WIDE)


def test_turns_are_found_while_somebody_types(demo: Demo) -> None:
    async def story(person: Person) -> None:
        # The last word is not finished.
        await person.type("counters in redi")
        await person.sees("Keep the counters in Redis", "claude:60309e1e@2", "1 copy")
        await person.sees("── turn 2 of 4", "↑ turn 1", "the same turn is in claude:7d1c")
        # Turns of one conversation stand together, below the best of them.
        assert sum(line.startswith("└ ") for line in found(person)) >= 1
        assert person.ui.looked_at.selection.point is not None
        assert person.ui.looked_at.selection.point.startswith(f"claude:{API}@")

    drive(story)


@pytest.mark.parametrize("line", ["search", "prompt"])
def test_what_is_pasted_comes_whole(demo: Demo, no_index: None, line: str) -> None:
    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        if line == "prompt":
            await person.press("alt+shift+f")
            await person.until(lambda: person.ui.screen.query("#prompt"))
        field = person.ui.screen.query_one(f"#{line}", Input)
        field.post_message(Paste("\nrate limiting\n\n  for  the API\r\n"))
        await person.until(lambda: field.value == "rate limiting for  the API")

    drive(story)


def test_sessions_are_not_listed_for_every_key(
    demo: Demo, no_index: None, no_model: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    listings: list[str] = []
    listing = Scanner.listing

    def counted(scanner: Scanner, wanted: SessionFilter) -> Listing:
        listings.append(threading.current_thread().name)
        return listing(scanner, wanted)

    async def story(person: Person) -> None:
        with App() as app:
            app.search.index(vectors=False)
        await person.sees("5 sessions")
        monkeypatch.setattr(Scanner, "listing", counted)
        for letter in "counters in redis":
            before = person.ui.looked_at.selection.highlight
            await person.press("space" if letter == " " else letter)
            await person.until(
                lambda before=before: person.ui.looked_at.selection.highlight is not before
            )
        await person.sees("Keep the counters in Redis")
        assert 1 <= listings.count("words") <= 2  # a slow machine may take longer than they last

    drive(story)


def test_the_arrows_move_while_somebody_types_and_enter_opens_the_turn(
    demo: Demo, no_model: None
) -> None:
    async def story(person: Person) -> None:
        await person.type("redis")
        await person.sees("3 turns in 5 sessions")
        rows = person.ui.screen.query_one("#found", Rows)
        await person.press("down", "down", "up")
        assert rows.position == 1
        assert isinstance(person.ui.focused, Input)
        wanted = person.ui.looked_at.selection.turn_number
        await person.press("enter")
        await person.until(lambda: isinstance(person.ui.screen, TurnsScreen))
        await person.until(lambda: person.ui.looked_at.selection.turn_number == wanted)
        await person.press("escape")
        await person.sees("3 turns in 5 sessions")

    drive(story)


def test_filters_by_key_by_click_and_by_word(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        # While somebody types, with Alt; in the list, the letter alone.
        await person.press("alt+a")
        await person.sees("agent <claude>", "3 of 5 sessions")
        await person.press("tab", "right")
        await person.sees("agent <codex>", "2 of 5 sessions")
        await person.pilot.click("#agent")
        await person.sees("agent <all>", "5 sessions")
        person.ui.screen.query_one("#found", Rows).focus()
        await person.press("c")
        await person.sees("code <kept>", "of 5 sessions")
        await person.press("c", "s")
        await person.sees("since <1 day>", "of 5 sessions")
        await person.press("s", "s", "s", "s", "slash")
        await person.type("agent:codex parser")
        await person.sees("codex:01a1e076@1")
        rows = person.ui.screen.query_one("#found", Rows)
        assert all("codex:" in entry.draw(60)[1].text for entry in rows.entries)

    drive(story)


def test_only_filters_are_a_list_of_sessions(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await person.type("agent:codex")
        await person.sees("2 of 5 sessions")

    drive(story)


def test_a_project_is_here_or_that_of_the_session(samples: Shell) -> None:
    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        await person.until(lambda: len(person.ui.screen.query_one("#project", Choice)._values) == 3)
        await person.press("alt+p", "alt+p")
        await person.sees("project <shop>", "5 sessions")

    drive(story)


def test_the_newest_first_instead_of_the_best(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await person.type("limit")
        await person.sees("turns in 5 sessions")
        await person.press("alt+o")
        await person.sees("order <newest>")
        await person.until(lambda: "sliding window" in "".join(found(person)[:1]))

    drive(story)


def test_nothing_is_found(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        await person.press("alt+a")
        await person.sees("3 of 5 sessions")
        await person.type("xyzzyplugh")
        await person.sees("Nothing about “xyzzyplugh” in 5 sessions", "Filters: claude")
        await person.press("F")
        # There is nothing to fork: it is a letter of the word.
        assert person.ui.looked_at.selection.point is None
        await person.press("alt+shift+f")
        await person.sees("This does not apply to the selection")
        await person.press("escape")
        await person.sees("3 of 5 sessions")

    drive(story)


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_there_are_no_sessions(shell: Shell, size: tuple[int, int]) -> None:
    async def story(person: Person) -> None:
        await person.sees("No sessions yet.", "prong demo", "prong doctor")

    drive(story, size=size)


def test_what_was_typed_behind_the_command_is_searched_first(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await person.sees("Write a parser", "in 5 sessions")

    drive(story, ui=Driven("price lists"))


def test_a_new_session_is_there_after_a_while(samples: Shell) -> None:
    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        source = next(samples.home.codex.rglob(f"*{PARSER}*.jsonl"))
        new = PARSER[:-2] + "ff"
        copy = source.with_name(source.name.replace(PARSER, new))
        copy.write_text(source.read_text().replace(PARSER, new))
        await person.press("ctrl+r")
        await person.sees("6 sessions")

    drive(story)


def test_a_small_screen_has_the_preview_below(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await person.type("redis")
        await person.sees("── turn 3 of 4", "3 turns in 5 sessions")
        lines = person.screen.splitlines()
        assert all(len(line) <= 80 for line in lines)
        assert any("───────" in line for line in lines)

    drive(story, size=NARROW)


def test_without_colours(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def story(person: Person) -> None:
        await person.type("redis")
        await person.sees("▌ Start a Redis in the tests")
        drawn = person.ui.export_screenshot().split("</style>", 1)[1]
        inks = set(re.findall(r'fill="#(.{6})"', drawn)) - FRAME
        assert len(inks) > 1
        assert all(ink[:2] * 3 == ink for ink in inks), inks

    drive(story)


def test_what_sessions_say_is_obeyed_by_nothing(shell: Shell) -> None:
    folder = shell.home.claude / "projects" / "-shop"
    folder.mkdir(parents=True)
    hostile = "[bold]x[/] \x1b[31mred\x07 [@click=app.quit]y[/] {{}} $HOME"
    line = {
        "type": "user",
        "uuid": "4a960d0d-0000-4000-8000-000000000001",
        "parentUuid": None,
        "sessionId": API,
        "cwd": "/home/ada/shop",
        "timestamp": "2026-11-01T10:00:00Z",
        "isSidechain": False,
        "message": {"role": "user", "content": hostile},
    }
    (folder / f"{API}.jsonl").write_text(json.dumps(line) + "\n")

    async def story(person: Person) -> None:
        await person.sees("[bold]x[/] ␛[31mred␇ [@click=app.quit]y[/]")
        await person.type("quit")
        await person.sees("1 turn in 1 session", "[bold]x[/] ␛[31mred␇")
        await person.press("enter")
        await person.until(lambda: isinstance(person.ui.screen, TurnsScreen))
        await person.sees("> [bold]x[/] ␛[31mred␇")
        assert "\x1b" not in person.screen

    drive(story)


def test_what_is_new_is_read_again(samples: Shell) -> None:
    path = next(samples.home.claude.rglob(f"{API}.jsonl"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    prompt = next(line for line in lines if line["type"] == "user")
    last = next(line for line in reversed(lines) if line.get("uuid"))
    message = {"role": "user", "content": "and one more thing"}
    more = {**prompt, "uuid": "0" * 8, "parentUuid": last["uuid"], "message": message}

    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        rows = person.ui.screen.query_one("#found", Rows)
        rows.focus()
        rows.move_to(next(entry.key for entry in rows.entries if API in str(entry.key)))
        await person.sees("── last turn (4) ──")
        with path.open("a") as file:
            file.write(json.dumps(more) + "\n")
        await person.press("ctrl+r")
        await person.sees("and one more thing")

    drive(story)


def test_the_name_of_the_place_is_copied(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await person.type("redis")
        await person.sees("3 turns in 5 sessions")
        person.ui.screen.query_one("#found", Rows).focus()
        await person.press("y")
        await person.sees("copied")
        assert person.ui.clipboard == person.ui.looked_at.selection.point

    drive(story)


def test_help_names_the_keys(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await person.press("f1")
        await person.sees("Everywhere", "Alt+Shift+F or F", "fork at the selected turn")
        await person.press("end")
        await person.sees("clone it")
        await person.press("escape")
        await person.sees_no("Everywhere")

    drive(story)


def test_every_command_is_in_the_palette(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        await person.press("ctrl+p")
        await person.type("fork here")
        await person.sees("A new session that starts with the turns up to this one")
        await person.press("enter")
        await person.sees("branch", "command", "Cancel")

    drive(story)


def test_what_should_not_go_wrong_is_told(
    demo: Demo, no_index: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of no use [bold]")

    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        monkeypatch.setattr("prong.tui.content.preview.SessionReader.of_session", fails)
        await person.press("down")
        await person.sees("ZeroDivisionError: of no use [bold]", "a bug in prong")
        # The screen is there all the same.
        await person.press("alt+a")
        await person.sees("agent <claude>", "3 of 5 sessions")

    drive(story)


def test_the_preview_comes_also_when_the_order_changes_meanwhile(
    demo: Demo, no_index: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large session takes its time; the model's list, of other objects, is faster."""
    gate = threading.Event()
    of_hit = SessionReader.of_hit

    def slow(*given: Any, **named: Any) -> Preview:
        gate.wait(30)
        return of_hit(*given, **named)

    monkeypatch.setattr("prong.tui.content.preview.SessionReader.of_hit", slow)
    with App() as app:
        app.search.index(vectors=False)

    async def story(person: Person) -> None:
        await person.sees("5 sessions")
        await person.type("redis")
        rows = person.ui.screen.query_one("#found", Rows)
        await person.until(lambda: len(rows.entries) == 3)
        first = rows.chosen
        await person.until(lambda: rows.chosen is not first)
        gate.set()
        await person.sees("── turn 3 of 4")

    drive(story)
