"""The workers, on the screen, and what is done with them there."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from textual.drivers.headless_driver import HeadlessDriver

from prong.errors import Busy, Unavailable
from prong.model.forks import Launch
from prong.model.workers import WorkerStatus
from prong.paths import state_dir
from prong.storage.workers import WorkerRecords
from prong.tui import workers_watch
from prong.tui.content.preview import LastExchange, SessionReader
from prong.tui.widgets.page import Page
from prong.workers.service import WorkerService
from prong.workers.states import WorkerStates
from tests.cli.shell import Shell
from tests.cli.worker_lab import WorkerLab
from tests.tui.driving import NARROW, Driven, Person, drive

pytestmark = pytest.mark.usefixtures("no_index")


@pytest.fixture
def parser(lab: WorkerLab) -> Path:
    """The workspace of a worker that was told something."""
    lab.run("--name", "parser", "first")
    return Path(lab.until("parser", "idle")["workspace"])


@pytest.fixture
def release(lab: WorkerLab, parser: Path) -> Callable[[], None]:
    """Lets it finish; it is at work until then."""
    hold = parser / "hold"
    hold.touch()
    lab.shell.ok("send", "parser", "slowly")
    return hold.unlink


def test_no_workers(shell: Shell) -> None:
    async def story(person: Person) -> None:
        await person.sees("No workers yet.", 'prong run "write the parser"', "no workers")
        assert person.ui.looked_at.selection.point is None
        assert person.ui.looked_at.selection.session is None
        # There is nothing to do anything with.
        await person.press("enter", *"aswxXRnc")
        await person.pilot.pause()
        assert "No workers yet." in person.screen
        assert "Attach" not in person.screen

    drive(story, "f4")


def test_what_is_seen_of_a_worker(lab: WorkerLab, parser: Path) -> None:
    session = lab.status("parser")["session"].rpartition(":")[2]

    async def story(person: Person) -> None:
        await person.sees("1 idle", "last turn (1)")
        first, second = person.screen.splitlines()[:2]
        assert first.startswith("▌ ● parser  idle     now")
        assert f"claude:{session[:8]}@1  tmux:%" in first
        assert second.startswith("▌   You said: first")
        # Beside it, all that is known.
        assert "parser is idle" in first[70:]
        assert f"session   claude:{session}" in person.screen
        assert "branch    prong/parser" in person.screen
        assert "> first" in person.screen
        view = person.ui.looked_at
        assert view.selection.point == "parser"
        assert view.selection.session is not None
        assert view.selection.session.id == session
        await person.press("l")
        await person.until(lambda: "transcript" in person.ui.wishes)

    drive(story, "f4")


def test_send_and_rename(lab: WorkerLab, parser: Path) -> None:
    async def story(person: Person) -> None:
        await person.sees("You said: first", "s Send")
        await person.press("s")
        await person.sees("Send to parser")
        await person.type("and [b]this[/b]")
        await person.press("enter")
        await person.sees("sent to parser", "You said: and [b]this[/b]", "@2")
        await person.press("s")
        await person.sees("Send to parser")
        await person.press("escape", "n")
        await person.sees("New name for parser")
        await person.press("end", *"-two")
        await person.press("enter")
        await person.sees("● parser-two")
        assert person.ui.looked_at.selection.point == "parser-two"
        await person.press("n")
        await person.sees("New name for parser-two")
        await person.press("end", *" no name")
        await person.press("enter")
        await person.until(lambda: "● parser-two" in person.screen and "try: " in person.screen)

    drive(story, "f4")


def noted(acts: list[str], name: str) -> Callable[[HeadlessDriver], None]:
    def act(_: HeadlessDriver) -> None:
        acts.append(name)

    return act


def test_a_failed_attach_gives_the_terminal_back(
    lab: WorkerLab, parser: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acts: list[str] = []
    monkeypatch.setattr(HeadlessDriver, "can_suspend", True)
    monkeypatch.setattr(HeadlessDriver, "suspend_application_mode", noted(acts, "suspend"))
    monkeypatch.setattr(HeadlessDriver, "resume_application_mode", noted(acts, "resume"))

    def attach(_: WorkerService, name: str) -> Launch:
        return Launch(argv=("tmux-is-gone", "attach", name), cwd=Path("/"))

    monkeypatch.setattr(WorkerService, "attach", attach)

    async def story(person: Person) -> None:
        await person.sees("1 idle")
        await person.press("a")
        await person.sees("tmux-is-gone does not start")
        assert acts == ["suspend", "resume"]

    drive(story, "f4")


def test_the_question_is_asked_where_the_key_was_pressed(
    lab: WorkerLab, parser: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, forced = threading.Event(), list[str]()

    def stop(_: WorkerService, name: str, *, force: bool = False) -> None:
        if force:
            forced.append(name)
            return
        gate.wait(60)
        raise Busy("parser is busy")

    monkeypatch.setattr(WorkerService, "stop", stop)

    async def story(person: Person) -> None:
        await person.sees("1 idle")
        await person.press("x", "f2")
        await person.sees("1 session")
        gate.set()
        await person.sees("press x to try again")
        await person.press("y")
        assert not forced

    drive(story, "f4")


def test_a_long_read_is_not_begun_again(
    lab: WorkerLab, parser: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes longer than the time between two looks."""
    monkeypatch.setattr(workers_watch, "_EVERY", 0.02)
    gate, reads, last_turn = threading.Event(), list[str](), SessionReader.last_turn

    def slow(self: SessionReader, status: WorkerStatus) -> LastExchange:
        reads.append(status.worker.name)
        gate.wait(60)
        return last_turn(self, status)

    monkeypatch.setattr(SessionReader, "last_turn", slow)
    looks: list[int] = []
    every = WorkerStates.all

    def counted(self: WorkerStates) -> list[WorkerStatus]:
        looks.append(1)
        return every(self)

    monkeypatch.setattr(WorkerStates, "all", counted)

    async def story(person: Person) -> None:
        await person.until(lambda: reads)
        seen = len(looks)
        await person.until(lambda: len(looks) > seen + 3)
        assert reads == ["parser"]
        gate.set()
        await person.sees("last turn (1)")

    drive(story, "f4")


def test_send_to_one_that_wants_a_person(lab: WorkerLab, parser: Path) -> None:
    lab.shell.ok("key", "parser", *"ask", "Enter")
    lab.until("parser", "waiting")

    async def story(person: Person) -> None:
        await person.sees("1 waiting", "[a person]")
        await person.press("s")
        await person.sees("Send to parser")
        await person.type("hello")
        await person.press("enter")
        await person.sees("prong attach parser")
        assert "sent to parser" not in person.screen

    drive(story, "f4")


def test_wait(lab: WorkerLab, release: Callable[[], None]) -> None:
    async def story(person: Person) -> None:
        await person.sees("1 busy", "w Wait")
        await person.press("w")
        await person.sees("(notifies you when it is done)")
        await person.press("w")
        await person.sees_no("(notifies you when it is done)")
        await person.press("w")
        await person.sees("(notifies you when it is done)")
        release()
        await person.sees("1 idle")
        await person.until(lambda: [one.message for one in person.ui._notifications])
        assert [one.message for one in person.ui._notifications] == ["parser is idle"]
        await person.sees_no("(notifies you when it is done)")

    drive(story, "f4")


def test_nobody_waits_when_the_screen_was_left(lab: WorkerLab, release: Callable[[], None]) -> None:
    async def story(person: Person) -> None:
        await person.sees("1 busy")
        await person.press("w")
        await person.sees("(notifies you when it is done)")
        # A dialog is still this screen.
        await person.press("s")
        await person.sees("Send to parser")
        await person.press("escape")
        await person.sees("(notifies you when it is done)")
        await person.press("f3", "f4")
        await person.sees("1 busy")
        await person.sees_no("(notifies you when it is done)")
        release()
        await person.sees("1 idle")
        assert not list(person.ui._notifications)

    drive(story, "f4")


def test_stop_restart_and_forget(lab: WorkerLab, release: Callable[[], None]) -> None:
    async def story(person: Person) -> None:
        await person.sees("1 busy", "x Stop")
        assert "R Restart" not in person.screen
        await person.press("x")
        await person.sees("parser is busy. Stop it?")
        await person.press("n")
        await person.sees_no("Stop it?")
        assert lab.status("parser")["state"] == "busy"
        await person.press("x")
        await person.sees("parser is busy. Stop it?")
        await person.press("y")
        await person.sees("parser stopped", "○ parser  gone", "R Restart", "X Forget")
        assert "x Stop" not in person.screen
        release()
        await person.press("R")
        await person.sees("parser restarted", "● parser  idle")
        # One that is idle is not asked for.
        await person.press("x")
        await person.sees("○ parser  gone")
        await person.press("X")
        await person.sees("parser forgotten", "No workers yet.")

    drive(story, "f4", size=NARROW)


def test_clone_as_soon_as_it_is_idle(lab: WorkerLab, release: Callable[[], None]) -> None:
    async def story(person: Person) -> None:
        await person.sees("1 busy", "c Clone")
        await person.press("c")
        await person.sees("it is cloned as soon as it is idle")
        release()
        await person.sees("is a clone of parser")
        await person.until(lambda: person.ui.looked_at.selection.point not in (None, "parser"))
        assert person.screen.count("● ") >= 2

    drive(story, "f4")


def test_attach(lab: WorkerLab, parser: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(person: Person) -> None:
        await person.sees("1 idle")
        # There is no terminal here that could be left for a while.
        await person.press("enter")
        await person.sees("type in a terminal:", "attach-session")
        for name, value in lab.inside().items():
            monkeypatch.setenv(name, value)
        await person.press("a")
        await person.sees("switched to the pane of parser")

    drive(story, "f4")


def test_this_terminal_shows_the_pane(
    lab: WorkerLab, parser: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    left: list[bool] = []

    @contextmanager
    def suspended(_: Driven) -> Generator[None]:
        left.append(True)
        yield

    monkeypatch.setattr(Driven, "suspend", suspended)

    async def story(person: Person) -> None:
        await person.sees("1 idle")
        await person.press("a")
        # What it attaches is no terminal in a test.
        await person.sees("tmux ended with 1")
        assert left == [True]
        lab.shell.ok("stop", "--force", "parser")
        await person.sees("1 gone")
        await person.press("a")
        await person.sees("prong restart parser")

    drive(story, "f4")


class Looks:
    """Counts looks at workers, and how many there are at a time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.at_once = 0
        self.most = 0
        self.error: Exception | None = None
        self._all = WorkerStates.all

        def look(workers: WorkerStates) -> list[WorkerStatus]:
            return self._look(workers)

        monkeypatch.setattr(WorkerStates, "all", look)
        monkeypatch.setattr(workers_watch, "_EVERY", 0.02)

    def _look(self, workers: WorkerStates) -> list[WorkerStatus]:
        self.count += 1
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            if self.error is not None:
                raise self.error
            return self._all(workers)
        finally:
            self.at_once -= 1


def test_they_are_looked_at_only_while_they_are_shown(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(monkeypatch)

    async def story(person: Person) -> None:
        await person.sees("Workers")
        assert looks.count == 0
        await person.press("f4")
        await person.until(lambda: looks.count > 3)
        await person.press("f2")
        await person.until(lambda: looks.at_once == 0)
        before = looks.count
        await person.pilot.pause(0.3)
        assert looks.count <= before + 1
        before = looks.count
        await person.press("f4", "f3", "f4", "ctrl+r")
        await person.until(lambda: looks.count > before + 3)
        assert looks.most == 1

    drive(story)


def test_what_is_being_read_stays_where_it_is(
    lab: WorkerLab, parser: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(monkeypatch)

    async def story(person: Person) -> None:
        await person.sees("parser is idle")
        page = person.ui.screen.query_one(Page)
        await person.until(lambda: page.max_scroll_y > 0)
        page.focus()
        await person.press("end")
        await person.sees("You said: first")
        at = page.scroll_offset.y
        assert at > 0
        before = looks.count
        lab.shell.ok("send", "parser", "second", "--wait")
        await person.until(lambda: looks.count > before + 3)
        await person.sees("@2")
        assert page.scroll_offset.y == at

    drive(story, "f4", size=NARROW)


def test_an_error_is_told_once(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = Looks(monkeypatch)
    looks.error = Unavailable("tmux [b]is[/b] ill", hint="prong doctor")

    async def story(person: Person) -> None:
        await person.sees("tmux [b]is[/b] ill", "try: prong doctor")
        await person.until(lambda: looks.count > 5)
        assert len(list(person.ui._notifications)) == 1
        looks.error = None
        await person.sees("No workers yet.")

    drive(story, "f4")


def test_those_that_are_long_gone(lab: WorkerLab, parser: Path) -> None:
    lab.shell.ok("stop", "parser")
    old = datetime.now(UTC) - timedelta(days=30)
    records = WorkerRecords(state_dir() / "state.db")
    records.change("parser", stopped=old, started=old, prompted=old, created=old)

    async def story(person: Person) -> None:
        await person.sees("1 worker long gone: A shows all", "No workers yet.")
        await person.press("A")
        await person.sees("○ parser  gone", "1 gone")
        await person.press("A")
        await person.sees("1 worker long gone: A shows all")

    drive(story, "f4")
