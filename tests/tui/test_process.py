"""The program as a whole: how it begins, and how it ends without leaving anything behind."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prong.app import App
from prong.setup.demo import Demo
from prong.testing.wait import wait_until
from tests.cli.shell import Shell
from tests.cli.terminal import on_terminal, run_on_terminal
from tests.drivers.tmux import Tmux
from tests.interrupts import unmeasured

PRONG = (sys.executable, "-m", "prong")


@pytest.fixture
def tmux(samples: Shell) -> Iterator[Tmux]:
    with Tmux(samples.home.root) as made:
        yield made


def begin(tmux: Tmux, samples: Shell, *words: str) -> int:
    """Show it in a terminal; its process."""
    env = unmeasured({**samples.home.env(), "PATH": os.environ["PATH"]})
    tmux.start([*PRONG, *words], samples.home.root, env)
    tmux.wait_for("5 sessions")
    return tmux.pid()


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


def family(pid: int) -> list[int]:
    """The process and those that it started."""
    told = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    )
    pairs = [tuple(map(int, line.split())) for line in told.stdout.splitlines()]
    return [pid, *(child for child, parent in pairs if parent == pid)]


@pytest.mark.parametrize("words", [("ui",), ()], ids=["prong ui", "prong"])
def test_it_is_shown_and_left(samples: Shell, tmux: Tmux, words: tuple[str, ...]) -> None:
    pid = begin(tmux, samples, *words)
    tmux.send_text("redis")
    tmux.wait_for("Keep the counters in")
    processes = family(pid)
    tmux.key("C-c")
    tmux.wait_gone()
    wait_until(lambda: not any(map(is_running, processes)), what="the end of all processes")


def test_it_does_not_draw_on_standard_error(samples: Shell, tmux: Tmux) -> None:
    """Others write there, and the sentence model silences it while it is loaded."""
    env = unmeasured({**samples.home.env(), "PATH": os.environ["PATH"]})
    errors = samples.home.root / "errors"
    command = f'exec "$@" 2> {shlex.quote(str(errors))}'
    tmux.start(["sh", "-c", command, "sh", *PRONG, "ui"], samples.home.root, env)
    tmux.wait_for("5 sessions")
    tmux.send_text("redis")
    tmux.wait_for("Keep the counters in")
    tmux.key("C-c")
    tmux.wait_gone()
    assert errors.read_text() == ""


def test_a_terminal_that_is_closed_ends_it(samples: Shell, tmux: Tmux) -> None:
    processes = family(begin(tmux, samples, "ui"))
    tmux.kill()
    wait_until(lambda: not any(map(is_running, processes)), what="the end of all processes")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it(samples: Shell, tmux: Tmux, number: signal.Signals) -> None:
    pid = begin(tmux, samples, "ui")
    processes = family(pid)
    os.kill(pid, number)
    wait_until(lambda: not any(map(is_running, processes)), what="the end of all processes")


@pytest.mark.parametrize("moment", ["the journal", "the worktree", "the session"])
def test_a_terminal_that_is_closed_in_the_middle_of_a_fork(demo: Demo, moment: str) -> None:
    """The fork is whole or there is none, and no process stays."""
    with App() as app:
        journals, before = app.journal_dir, {one.ref.id for one in app.sessions.all()}
        worktrees = len(app.code.worktrees.list())
    projects = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "projects"
    managed = Path(os.environ["XDG_DATA_HOME"]) / "prong" / "worktrees"
    files = set(projects.rglob("*.jsonl"))
    come: dict[str, Callable[[], object]] = {
        "the journal": lambda: any(journals.glob("*")) or set(projects.rglob("*.jsonl")) > files,
        "the worktree": lambda: any(managed.glob("*/*")),
        "the session": lambda: set(projects.rglob("*.jsonl")) > files,
    }
    with Tmux(demo.repository.parent) as tmux:
        env = {**unmeasured(os.environ), "TERM": "xterm-256color"}
        tmux.start([*PRONG, "ui"], demo.repository, env)
        tmux.wait_for("5 sessions")
        tmux.key("M-F")
        tmux.wait_for("tokens of")
        processes = family(tmux.pid())
        tmux.key("Enter")
        wait_until(lambda: bool(come[moment]()), what=moment)
        tmux.kill()
        wait_until(lambda: not any(map(is_running, processes)), what="the end of all processes")
    with App() as app:
        new = [one for one in app.sessions.all() if one.ref.id not in before]
        made = len(app.code.worktrees.list()) - worktrees
        assert (len(new), made) in ((0, 0), (1, 1))
        recorded = {fork.child for fork in app.recorded_forks()}
        assert {one.ref for one in new} <= recorded
        assert not list(journals.glob("*"))


def test_what_was_typed_is_searched_first(samples: Shell, tmux: Tmux) -> None:
    env = unmeasured({**samples.home.env(), "PATH": os.environ["PATH"]})
    tmux.start([*PRONG, "ui", "price", "lists"], samples.home.root, env)
    tmux.wait_for("Write a parser")
    tmux.wait_for("in 5 sessions")


def test_the_mouse(samples: Shell, tmux: Tmux) -> None:
    """A click on an entry puts the cursor there; the terminal tells of it by a sequence."""
    begin(tmux, samples, "ui")
    tmux.wait_for("▌ Rate limiting with a sliding window")
    # The fifth line of the screen: the second entry. Pressed and released, as xterm says it.
    tmux.send_text("\x1b[<0;10;5M\x1b[<0;10;5m")
    tmux.wait_for("▌ └ Rate limiting for the public API")


def test_without_a_terminal(samples: Shell) -> None:
    assert "this needs a terminal" in samples.fails(5, "ui")
    # Alone it helps instead.
    assert "Usage: prong" in samples.ok()


def test_standard_error_must_have_a_place(samples: Shell) -> None:
    argv = ["sh", "-c", 'exec "$@" 2>&-', "sh", *PRONG, "ui"]
    assert run_on_terminal(samples, argv).status == 5


def test_a_terminal_that_can_nothing(samples: Shell) -> None:
    shown = on_terminal(samples, "ui", TERM="dumb")
    assert shown.status == 5
    assert "this needs a terminal" in shown.output
