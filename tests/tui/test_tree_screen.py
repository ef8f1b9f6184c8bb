"""The tree of forks, on the screen."""

import pytest

from prong.app import App
from prong.tui.screens.tree_screen import TreeScreen
from prong.tui.widgets.page import Page
from prong.tui.widgets.rows import Rows
from tests.cli.shell import API, SEARCH, WINDOW, Shell
from tests.cli.worker_lab import WorkerLab
from tests.tui.driving import NARROW, Driven, Person, drive

pytestmark = pytest.mark.usefixtures("no_index")


def test_all_trees(samples: Shell) -> None:
    async def story(person: Person) -> None:
        await person.sees("4 sessions in 2 trees", "claude:60309e1e · 4h ago")
        lines = [line[:70].strip() for line in person.screen.splitlines()[:5]]
        assert lines[0].startswith("▌ claude:60309e1e  Rate limiting for the public API")
        assert lines[0].endswith("4h ago")
        assert lines[1].startswith("└─ @2 claude:7d1c44a2  Rate limiting with a slid")
        assert lines[1].endswith("+1 turn  1h ago")
        assert lines[2].startswith("codex:01a1e076  Write a parser")
        assert lines[3].startswith("└─ @1 codex:01a1e5b2")
        assert lines[4] == ""
        # The preview stands beside it.
        assert "Rate limiting for the public API" in person.line("▌")[70:]

    drive(story, "f3")


def test_the_cursor_is_a_place_to_fork_from(samples: Shell) -> None:
    async def story(person: Person) -> None:
        await person.sees("in 2 trees")
        view = person.ui.looked_at
        assert view.selection.point == f"claude:{API}"
        await person.press("j")
        assert view.selection.point == f"claude:{WINDOW}"
        assert view.selection.session is not None
        assert view.selection.session.id == WINDOW
        await person.sees("forked from claude:60309e1e@2")
        await person.press("enter")
        await person.until(lambda: "turns" in person.ui.wishes)

    drive(story, "f3")


def test_sessions_that_were_never_forked(samples: Shell) -> None:
    async def story(person: Person) -> None:
        await person.sees("in 2 trees", "A All sessions")
        assert SEARCH[:8] not in person.screen
        await person.press("j", "A")
        await person.sees(SEARCH[:8])
        # The cursor stays where it was.
        assert person.ui.looked_at.selection.point == f"claude:{WINDOW}"
        await person.press("A")
        await person.sees_no(SEARCH[:8])

    drive(story, "f3")


def test_on_a_small_screen_the_preview_is_below(samples: Shell) -> None:
    async def story(person: Person) -> None:
        await person.sees("claude:60309e1e · 4h ago")
        lines = person.screen.splitlines()
        assert lines[1].endswith("+1 turn  1h ago")
        assert lines[12].strip() == "Rate limiting for the public API"
        page, rows = person.ui.screen.query_one(Page), person.ui.screen.query_one(Rows)
        assert page.region.y >= rows.region.bottom

    drive(story, "f3", size=NARROW)


def test_the_family_of_one(samples: Shell) -> None:
    with App() as app:
        session = app.sessions.get(WINDOW)
    ui = Driven()

    async def story(person: Person) -> None:
        ui.push_screen(TreeScreen(ui._lanes, session))
        await person.sees("2 sessions in 1 tree", "forked from claude:60309e1e@2")
        assert "codex:" not in person.screen
        assert person.line("7d1c44a2").startswith("▌ └─ @2 ")
        assert person.line("7d1c44a2")[:70].rstrip().endswith("1h ago *")
        # There are no others to be shown.
        assert "All sessions" not in person.screen
        await person.press("A", "ctrl+r")
        await person.sees("2 sessions in 1 tree")
        await person.press("escape")
        await person.until(lambda: "back" in ui.wishes)

    drive(story, ui=ui)


def test_nothing_was_ever_forked(shell: Shell) -> None:
    async def story(person: Person) -> None:
        await person.sees("No forks yet.", "F   on a turn forks the session")
        assert person.ui.looked_at.selection.point is None
        assert person.ui.looked_at.selection.session is None
        await person.press("enter", "A")
        await person.sees("No sessions yet.")
        assert person.ui.wishes == []

    drive(story, "f3")


def test_a_deleted_parent(samples: Shell) -> None:
    [path] = samples.home.claude.rglob(f"{API}.jsonl")
    path.unlink()

    async def story(person: Person) -> None:
        await person.sees("claude:60309e1e  (deleted)", "This session was deleted")
        assert person.ui.looked_at.selection.point is None

    drive(story, "f3")


def test_what_is_new_is_seen_when_one_comes_back(shell: Shell) -> None:
    sample = shell.session(1)
    sample.prompt("a [red]title[/red] \x1b[31mwith\x07 signs")
    at = sample.answer("Done.")
    sample.write(shell.home.claude)

    async def story(person: Person) -> None:
        await person.sees("No forks yet.")
        await person.press("f2")
        fork = sample.branch_off("00000002-0000-4000-8000-000000000002", at)
        fork.prompt("own")
        fork.write(shell.home.claude)
        await person.press("f3")
        await person.sees("2 sessions in 1 tree")
        # Text from sessions is data.
        assert "a [red]title[/red] ␛[31mwith␇ signs" in person.screen

    drive(story, "f3")


def test_who_has_a_session_open(lab: WorkerLab) -> None:
    lab.run("--name", "parser", "first")
    lab.until("parser", "idle")

    async def story(person: Person) -> None:
        await person.sees("1 worker", "● parser idle")
        assert "first" in person.line("● parser idle")
        lab.shell.ok("stop", "--force", "parser")
        await person.sees_no("● parser")

    drive(story, "f3", "A")
