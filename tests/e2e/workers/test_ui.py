"""The terminal UI as a person has it: real keys in a real tmux, real sessions, a fork that runs."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from prong.testing.home import IsolatedHome
from prong.testing.script import Hold, Reply, Text, say
from prong.testing.server import RequestKind
from prong.testing.wait import PATIENCE, POLL, wait_until
from tests.e2e.workers.typed_workers import WorkerLab, digest, ended, opened
from tests.interrupts import unmeasured


@pytest.fixture(params=["claude", "codex"])
def lab(request: pytest.FixtureRequest, isolated_home: IsolatedHome) -> Iterator[WorkerLab]:
    with ended(opened(request, isolated_home)) as made:
        yield made


class Screen:
    """`prong ui` in a window of the tmux that the agents run in."""

    def __init__(self, lab: WorkerLab, *words: str) -> None:
        self.lab = lab
        pairs = [f"{name}={value}" for name, value in unmeasured(lab.environment()).items()]
        argv = ["env", *pairs, sys.executable, "-m", "prong", *words]
        told = ("-P", "-F", "#{pane_id} #{pane_pid}")
        made = lab.tmux("new-window", *told, "-c", str(lab.project), *argv)
        self.pane, self.pid = made.split()

    def press(self, *keys: str) -> None:
        self.lab.tmux("send-keys", "-t", self.pane, *keys)

    def type(self, text: str) -> None:
        self.lab.tmux("send-keys", "-t", self.pane, "-l", "--", text)

    @property
    def text(self) -> str:
        return self.lab.tmux("capture-pane", "-p", "-t", self.pane)

    def sees(self, *texts: str) -> str:
        """Wait until all of it is on the screen."""
        return self.until(lambda text: all(one in text for one in texts), str(texts))

    def until(self, wanted: Callable[[str], bool], what: str) -> str:
        deadline = time.monotonic() + PATIENCE
        while not wanted(text := self.text):
            assert time.monotonic() < deadline, f"{what} is not on the screen:\n{text}"
            time.sleep(POLL)
        return text

    def is_there(self) -> bool:
        return self.pane in self.lab.panes()


def test_from_a_search_to_a_running_fork(lab: WorkerLab) -> None:
    """Type, look, Alt+Shift+F, Enter: the fork at that turn runs in a pane beside its source."""
    lab.server.enqueue(say("a token bucket for each key"))
    worker = lab.run(
        "--name", "grace", "--no-worktree", "--skip-permissions", "limit the api calls"
    )
    lab.ok("wait", "grace")
    lab.server.enqueue(say("they are in redis now"))
    lab.ok("send", "grace", "keep the counters in redis", "--wait")
    path = lab.path_of(worker)
    before = digest(path)

    screen = Screen(lab, "ui")
    screen.sees("1 session")
    screen.type("limit the api")
    # The last word is not finished, and its turn is found all the same.
    screen.sees("limit the api calls", "@1", "a token bucket for each key")
    screen.press("M-F")
    screen.sees("Fork", "turn     <1: limit the api calls", "in a new pane", "command")
    screen.press("Enter")
    done = screen.sees(f"forked {lab.status('grace')['session']}@1 into", "runs as", "Attach")
    name = done.split("runs as", 1)[1].split()[0]
    assert digest(path) == before

    forked = lab.wait_state(name, "idle")
    assert forked["session"] != lab.status("grace")["session"]
    lab.server.enqueue(say("in the fork"))
    lab.ok("send", name, "only for the fork", "--wait")
    prompts = lab.prompts("only for the fork")
    assert any("limit the api calls" in text for text in prompts)
    assert not any("keep the counters in redis" in text for text in prompts), "it was cut too late"
    assert digest(path) == before, "the fork wrote into its source"

    screen.press("Enter")
    pane = next(one["pane"]["id"] for one in lab.json("ps")["workers"] if one["name"] == name)
    wait_until(
        lambda: pane in lab.tmux("list-panes", "-a", "-f", "#{window_active}", "-F", "#{pane_id}"),
        what="the pane of the fork in front",
    )
    screen.press("C-c")
    wait_until(lambda: not screen.is_there(), what="the end of the UI")
    assert pane in lab.panes(), "the fork ended with the UI"


def test_a_turn_that_is_being_processed_is_waited_for(lab: WorkerLab) -> None:
    gate = threading.Event()
    lab.server.enqueue(say("ready"))
    lab.run("--name", "grace", "--no-worktree", "--skip-permissions", "the first question")
    lab.ok("wait", "grace")
    lab.server.enqueue(Reply(Text("half of it "), Hold(gate), Text("and the rest")))
    lab.ok("send", "grace", "a question that takes long")
    lab.wait_state("grace", "busy")

    screen = Screen(lab, "ui")
    screen.sees("1 session")
    screen.press("Enter")
    screen.sees("a question that takes long", "the first question")
    screen.press("F")
    screen.sees("the agent is still working on turn 2", "Wait until it is idle")
    screen.press("w")
    screen.sees("waiting until the agent is done")
    gate.set()
    screen.sees("turn     <2: a question that takes long", "in a new pane")
    screen.press("Escape")
    screen.until(lambda text: "in a new pane" not in text, "the end of the dialog")
    screen.press("C-c")
    wait_until(lambda: not screen.is_there(), what="the end of the UI")


def test_a_fork_by_seed(lab: WorkerLab) -> None:
    """The agent reads the transcript and says that it is ready; that is not shown this once."""
    lab.server.enqueue(say("a token bucket for each key"))
    lab.run("--name", "grace", "--no-worktree", "--skip-permissions", "limit the api calls")
    lab.ok("wait", "grace")
    screen = Screen(lab, "ui")
    screen.sees("1 session")
    screen.press("Enter")
    screen.sees("limit the api calls", "1 turn ·")
    screen.press("F")
    screen.sees("how <copy>", "in a new pane")
    # From the button up to how it is handed over: count, run, prompt, branch, folder, code.
    screen.press(*["Up"] * 7, "Right", "Right")
    screen.sees("how <seed: as a prompt>")
    kind = RequestKind.TITLE if lab.agent == "claude" else RequestKind.MAIN
    lab.server.enqueue(say("Ready."), kind=kind)
    screen.press("Enter")
    screen.sees("Fork created; context injected; waiting for your next prompt", "Show turns")
    screen.press("Tab", "Enter")
    # The seed is there, with the transcript in it; what the agent answered is not.
    seen = screen.sees("> [PRONG_FORK_SEED]", "a token bucket for each key", "1 turn ·")
    assert "Ready." not in [line.rpartition("▊")[2].strip() for line in seen.splitlines()]
    screen.press("C-c")
    wait_until(lambda: not screen.is_there(), what="the end of the UI")
