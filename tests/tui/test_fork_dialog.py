"""The fork dialog: what it tells, what can be changed in it, and what it makes."""

import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Button, Input

from prong.app import App
from prong.errors import Busy, External
from prong.model.forks import Launch
from prong.setup.demo import Demo
from prong.tui.content.forking import Forker, NewFork, Planned, Wanted
from prong.tui.screens.fork_dialog import ForkDialog
from prong.tui.screens.turns_screen import TurnsScreen
from prong.tui.widgets.form import Choice
from prong.tui.widgets.rows import Rows
from tests.cli.shell import API, SEARCH, Shell
from tests.cli.worker_lab import WorkerLab
from tests.tui.driving import NARROW, WIDE, Person, drive

pytestmark = pytest.mark.usefixtures("no_index")


async def open_dialog(person: Person, name: str = API) -> ForkDialog:
    """On the session of that id, by key."""
    await person.sees_sessions()
    rows = person.ui.screen.query_one("#found", Rows)
    key = next(entry.key for entry in rows.entries if name in str(entry.key))
    rows.focus()
    rows.move_to(key)
    await person.press("F")
    await person.until(lambda: isinstance(person.ui.screen, ForkDialog))
    dialog = person.ui.screen
    assert isinstance(dialog, ForkDialog)
    return dialog


async def planned(person: Person, name: str = API) -> ForkDialog:
    dialog = await open_dialog(person, name)
    await person.until(lambda: dialog.query_one("#fork", Button).display)
    return dialog


def turns_of(session: str) -> int:
    with App() as app:
        return len(app.sessions.turns(session))


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_all_that_would_be_done(demo: Demo, size: tuple[int, int]) -> None:
    async def story(person: Person) -> None:
        await planned(person)
        await person.sees(
            "Fork  Rate limiting for the public API",
            f"claude:{API}",
            "claude-opus-5-5",
            "<4: Document the limit in the README>",
            "<claude>",
            "how <copy>",
            "<as of the turn>",
            "as at turn 4",
            "+7 -0 in 1 file",
            "~/data/prong/worktrees",
            "branch   prong/",
            "tokens of 1,000,000",
            "--resume",
            "! turns up to 3 are a summary to the model; history <all words>",
            "Cancel",
        )

    drive(story, size=size)


@pytest.mark.parametrize("size", [(80, 20), (80, 18), (60, 16), (40, 12)])
def test_a_small_terminal_has_the_buttons(demo: Demo, size: tuple[int, int]) -> None:
    async def story(person: Person) -> None:
        dialog = await planned(person)
        await person.sees("Cancel")
        dialog.query_one("#prompt", Input).value = "and then some more of it " * 20
        await person.until(lambda: dialog.query_one("#fork", Button).display)
        await person.sees("Cancel")
        dialog.query_one("#count", Choice).choose("9")
        dialog.query_one("#run", Choice).choose("later")
        await person.press("enter")
        await person.sees("Show turns", "Close")

    drive(story, size=size)


def test_the_branch_that_is_shown_is_made(demo: Demo) -> None:
    """Also where somebody typed in its field, and took that back."""

    async def story(person: Person) -> None:
        dialog = await planned(person)
        field = dialog.query_one("#branch", Input)
        before = field.value
        field.focus()
        await person.press("end", "x")
        await person.sees(f"{before}x")
        await person.press("backspace")
        await person.until(lambda: field.value == before)
        dialog.query_one("#run", Choice).choose("later")
        shown = field.value
        await person.press("enter")
        await person.sees("Show turns", shown)

    drive(story)


def test_another_turn_has_another_code(demo: Demo) -> None:
    async def story(person: Person) -> None:
        dialog = await planned(person)
        dialog.query_one("#turn", Choice).focus()
        await person.press("left", "left")
        await person.sees("<2: Keep the counters in Redis", "as at turn 2", "+10 -11 in 1 file")
        # Before the compaction there is no choice of what the model sees.
        await person.sees_no("history")
        dialog.query_one("#code", Choice).focus()
        await person.press("right")
        await person.sees("<as it is now>", "current code of ~/shop")
        await person.press("right", "right")
        await person.sees("<untouched>", "no code is touched", "folder   ~/shop")
        assert dialog.query_one("#branch", Input).disabled

    drive(story)


def test_branch_folder_and_prompt_can_be_changed(demo: Demo) -> None:
    other = demo.repository.parent / "elsewhere"
    other.mkdir()

    async def story(person: Person) -> None:
        dialog = await planned(person)
        branch = dialog.query_one("#branch", Input)
        branch.focus()
        branch.value = ""
        await person.type("try/window")
        dialog.query_one("#prompt", Input).focus()
        await person.type("with a window")
        await person.until(lambda: dialog._planned is not None and dialog._planned.plan.prompt)
        plan = dialog._planned
        assert plan is not None
        assert plan.plan.worktree is not None
        assert plan.plan.worktree.branch == "try/window"
        await person.sees("'with a window'")
        folder = dialog.query_one("#folder", Input)
        folder.value = str(other)
        await person.sees("no code is touched")
        assert dialog._planned is not None
        assert dialog._planned.plan.workspace == other

    drive(story)


def test_a_branch_that_cannot_be_is_told_at_once(demo: Demo) -> None:
    async def story(person: Person) -> None:
        dialog = await planned(person)
        branch = dialog.query_one("#branch", Input)
        branch.focus()
        branch.value = "main"
        await person.sees("main", "try:")
        await person.until(lambda: not dialog.query_one("#fork", Button).display)
        await person.press("enter")
        branch.value = "another"
        await person.until(lambda: dialog.query_one("#fork", Button).display)

    drive(story)


def test_enter_forks_and_the_source_is_as_it_was(demo: Demo) -> None:
    source = next(Path(demo.environment["CLAUDE_CONFIG_DIR"]).rglob(f"{API}.jsonl"))
    before = source.read_bytes()

    async def story(person: Person) -> None:
        dialog = await planned(person)
        dialog.query_one("#turn", Choice).focus()
        await person.press("left", "left")
        await person.sees("as at turn 2")
        dialog.query_one("#run", Choice).choose("later")
        await person.press("enter")
        await person.sees(f"forked claude:{API}@2 into", "Run it here", "Show turns", "Close")
        assert dialog._made is not None
        (fork,) = dialog._made.forks
        assert fork.workspace is not None
        assert "import redis" in (fork.workspace / "shop" / "limit.py").read_text()
        assert not (fork.workspace / "tests" / "conftest.py").exists(), "that came with turn 3"
        assert source.read_bytes() == before
        assert turns_of(str(fork.child)) == 2
        dialog.query_one("#turns", Button).press()
        await person.until(lambda: isinstance(person.ui.screen, TurnsScreen))
        await person.sees("2 turns", fork.child.id[:8])

    drive(story)


def test_run_it_here_leaves_the_screen_to_the_agent(demo: Demo) -> None:
    async def story(person: Person) -> None:
        dialog = await planned(person)
        assert dialog.query_one("#run", Choice).value == "here"
        await person.press("enter")
        await person.until(lambda: person.ui.return_value is not None)

    left: list[Launch] = []

    async def told(person: Person) -> None:
        await story(person)
        assert person.ui.return_value is not None
        left.append(person.ui.return_value)

    drive(told)
    (launch,) = left
    assert "--resume" in launch.argv


def test_resume_leaves_the_screen_to_the_agent(demo: Demo) -> None:
    async def story(person: Person) -> None:
        await person.sees_sessions()
        person.ui.screen.query_one("#found", Rows).focus()
        await person.press("r")
        await person.until(lambda: person.ui.return_value is not None)
        launch = person.ui.return_value
        assert launch is not None
        assert launch.cwd == demo.repository

    drive(story)


def test_several_forks(demo: Demo) -> None:
    async def story(person: Person) -> None:
        dialog = await planned(person)
        dialog.query_one("#count", Choice).choose("3")
        dialog.query_one("#run", Choice).choose("later")
        await person.press("enter")
        await person.until(lambda: dialog._made is not None)
        assert dialog._made is not None
        assert len({fork.child for fork in dialog._made.forks}) == 3
        assert len({fork.branch for fork in dialog._made.forks}) == 3

    drive(story)


def test_without_the_program_of_the_agent(
    demo: Demo, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shell.home.root / "bin" / "claude").unlink()

    async def story(person: Person) -> None:
        dialog = await open_dialog(person)
        await person.sees("! claude is not on PATH; to run the fork: npm install", "Fork", "Cancel")
        # A seed needs it.
        dialog.query_one("#method", Choice).focus()
        await person.press("left")
        await person.sees("<seed: as a prompt>", "claude is not on PATH", "try:")
        assert not dialog.query_one("#fork", Button).display
        await person.press("right")
        await person.sees("<copy>", "! claude is not on PATH")
        await person.press("enter")
        await person.sees(f"forked claude:{API}@4 into", "then: prong", "Show turns", "Close")
        assert dialog._made is not None
        assert dialog._made.forks[0].path is not None
        assert not dialog.query_one("#run-here", Button).display

    drive(story)


def test_a_fork_that_fails_can_be_tried_again(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Forker.make

    def fails(*_: object, **__: object) -> None:
        raise External("the disk is full", hint="make room")

    monkeypatch.setattr(Forker, "make", fails)

    async def story(person: Person) -> None:
        dialog = await planned(person, SEARCH)
        dialog.query_one("#run", Choice).choose("later")
        await person.press("enter")
        await person.sees("the disk is full", "try: make room")
        monkeypatch.setattr(Forker, "make", made)
        await person.press("enter")
        await person.sees("forked claude:", "Show turns")

    drive(story)


def test_a_fork_in_a_pane(lab: WorkerLab) -> None:
    """The stand-in agent in a real tmux; what it runs is seen, and attached to."""
    lab.run("--name", "calm-otter", "count to three")
    lab.shell.ok("wait", "calm-otter")

    async def story(person: Person) -> None:
        await person.sees("1 session")
        person.ui.screen.query_one("#found", Rows).focus()
        await person.press("F")
        await person.sees("command", "Cancel")
        dialog = person.ui.screen
        assert isinstance(dialog, ForkDialog)
        dialog.query_one("#run", Choice).choose("pane")
        await person.press("enter")
        await person.sees("runs as calm-otter-2", "Attach")
        await person.sees("calm-otter-2 is idle")

    drive(story)
    names = [one["name"] for one in lab.shell.json("ps")["workers"]]
    assert names == ["calm-otter", "calm-otter-2"]


def test_a_dirty_source_is_warned_of(demo: Demo) -> None:
    (demo.repository / "README.md").write_text("changed\n")
    subprocess.run(["git", "status"], cwd=demo.repository, check=True, capture_output=True)

    async def story(person: Person) -> None:
        dialog = await planned(person)
        dialog.query_one("#code", Choice).focus()
        await person.press("right", "right")
        await person.sees("<the last commit>", "README.md")

    drive(story)


def test_what_is_forked_is_what_was_shown(demo: Demo) -> None:
    async def story(person: Person) -> None:
        dialog = await planned(person)
        shown = dialog._planned
        assert shown is not None
        dialog.query_one("#run", Choice).choose("later")
        await person.press("enter")
        await person.until(lambda: dialog._made is not None)
        assert dialog._made is not None
        assert dialog._made.plan == shown.plan
        assert dialog._made.forks[0].child.id == shown.plan.new_id

    drive(story)


def test_what_was_typed_last_is_in_the_fork_and_nothing_is_drawn_over_it(demo: Demo) -> None:
    async def story(person: Person) -> None:
        dialog = await planned(person)
        dialog.query_one("#run", Choice).choose("later")
        branch = dialog.query_one("#branch", Input)
        branch.focus()
        branch.value = "typed/last"
        # At once, before the plan knows of it.
        await person.press("enter")
        await person.sees("forked claude:", "on typed/last", "Show turns")
        for _ in range(15):
            await person.pilot.pause(0.03)
        assert "Show turns" in person.screen
        assert "Close" in person.screen

    drive(story)


def test_a_field_that_is_emptied_stays_empty_while_somebody_types(demo: Demo) -> None:
    async def story(person: Person) -> None:
        dialog = await planned(person)
        branch = dialog.query_one("#branch", Input)
        branch.focus()
        before = dialog._planned
        branch.value = ""
        await person.until(lambda: dialog._planned is not before)
        await person.type("mine")
        await person.until(
            lambda: (
                dialog._planned is not None
                and dialog._planned.plan.worktree is not None
                and dialog._planned.plan.worktree.branch == "mine"
            )
        )
        assert branch.value == "mine"

    drive(story)


def test_while_a_fork_is_made_the_dialog_stays(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, made = threading.Event(), Forker.make

    def slow(*given: Any, **named: Any) -> NewFork:
        gate.wait(60)
        return made(*given, **named)

    monkeypatch.setattr(Forker, "make", slow)

    async def story(person: Person) -> None:
        dialog = await planned(person, SEARCH)
        dialog.query_one("#run", Choice).choose("later")
        await person.press("enter")
        await person.sees("forking ...")
        await person.press("escape", "f4", "f1", "ctrl+p", "F")
        await person.sees("it is finished first")
        assert person.ui.screen is dialog
        gate.set()
        await person.sees("forked claude:", "Show turns")

    drive(story)


def test_a_busy_turn_is_waited_for_and_no_other_one_is_forked(
    demo: Demo, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, busy = Forker.plan, threading.Event()
    busy.set()

    def refusing(self: Forker, wanted: Wanted) -> Planned:
        found = plan(self, wanted)
        if busy.is_set() and found.plan.point.turn == 3:
            raise Busy("the agent is still working on turn 3", hint="--wait")
        return found

    monkeypatch.setattr(Forker, "plan", refusing)

    async def story(person: Person) -> None:
        dialog = await planned(person)
        dialog.query_one("#turn", Choice).focus()
        await person.press("left")
        await person.sees("the agent is still working on turn 3", "Wait until it is idle")
        await person.press("w")
        await person.sees("waiting until the agent is done")
        # Something else is changed meanwhile: it is still at work, and can be waited for again.
        dialog.query_one("#count", Choice).action_turn(1)
        await person.sees("the agent is still working on turn 3", "Wait until it is idle")
        await person.press("w")
        await person.sees("waiting until the agent is done")
        busy.clear()
        await person.sees("<3: Start a Redis", "as at turn 3")

    drive(story)
