"""Prompts for the real agents in their panes: taken once, as they are, and never waited short."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from threading import Event

import pytest

import prong
from prong.model.workers import WorkerState
from prong.testing.home import IsolatedHome
from prong.testing.script import Delay, Hold, Reply, Text, say
from prong.testing.wait import PATIENCE, wait_until
from tests.e2e.workers.typed_workers import WorkerLab, ended, opened

ROUNDS = 4
BUSY, EXTERNAL = 4, 8


@pytest.fixture(params=["claude", "codex"])
def lab(request: pytest.FixtureRequest, isolated_home: IsolatedHome) -> Iterator[WorkerLab]:
    with ended(opened(request, isolated_home)) as made:
        yield made


def test_a_wait_is_never_over_before_the_last_prompt_is_answered(lab: WorkerLab) -> None:
    """Also when that came while the agent worked, or at the moment at which it was done."""
    lab.run("--name", "tess", "--no-worktree", "--skip-permissions")
    for number in range(ROUNDS):
        lab.server.enqueue(Reply(Delay(0.4 * number), Text(f"one {number}")), say(f"two {number}"))
        lab.ok("send", "tess", f"first {number}")
        lab.ok("send", "tess", f"second {number}")
        [worker] = lab.json("wait", "tess")["workers"]
        assert (worker["state"], worker["last_line"]) == ("idle", f"two {number}")
    asked = [request.prompt for request in lab.server.conversation_requests()]
    assert len(asked) == 2 * ROUNDS
    assert [text.split()[0] for text in asked] == ["first", "second"] * ROUNDS


@pytest.mark.parametrize(
    "text",
    ["two\n\nlines; $(id) `x` 'y' \"z\"", f"{'long ' * 2000}\nand its end"],
    ids=["odd", "long"],
)
def test_a_text_arrives_as_it_is(lab: WorkerLab, text: str) -> None:
    lab.run("--name", "tess", "--no-worktree", "--skip-permissions")
    lab.ok("send", "tess", text, "--wait")
    [asked] = [request.prompt for request in lab.server.conversation_requests()]
    assert text in asked


# -- what a person has typed ----------------------------------------------------------------------


def typed(lab: WorkerLab, text: str, *keys: str) -> None:
    """Somebody types this into the pane and presses these keys behind it, until it is seen."""
    [pane] = lab.panes()
    lab.tmux("send-keys", "-t", pane, "-l", text)
    wait_until(lambda: text in lab.screens())
    if keys:
        lab.tmux("send-keys", "-t", pane, *keys)
        wait_until(lambda: lab.tmux("display", "-p", "-t", pane, "#{cursor_x}").strip() == "2")


def input_line(lab: WorkerLab) -> str:
    sign = "\u276f" if lab.agent == "claude" else "\u203a"
    return [row for row in lab.screens().splitlines() if row.startswith(sign)][-1][1:].strip()


def asked(lab: WorkerLab) -> list[str]:
    return [request.prompt for request in lab.server.conversation_requests()]


@pytest.mark.parametrize(
    "text",
    ["sent text", "two\nlines", f"{'long ' * 400}\n\n\nend"],
    ids=["short", "lines", "long"],
)
def test_a_draft_is_neither_sent_nor_lost(lab: WorkerLab, text: str) -> None:
    """Where the cursor is behind it nothing is typed at all; else that is taken out again."""
    lab.run("--name", "tess", "--no-worktree", "--skip-permissions")
    typed(lab, "my draft")
    told = lab.fails(BUSY, "send", "tess", text)
    assert (told["code"], told["hint"]) == ("busy", "prong attach tess, or: prong key tess C-u")
    assert input_line(lab) == "my draft"
    typed(lab, " and more", "Home")
    lab.fails(BUSY, "send", "tess", text)
    assert input_line(lab) == "my draft and more"
    assert not asked(lab)
    assert lab.status("tess")["state"] == "idle"
    lab.ok("key", "tess", "C-e", "C-u")
    lab.ok("send", "tess", text, "--wait")
    [prompt] = asked(lab)
    assert text in prompt
    assert "my draft" not in prompt


def test_what_is_not_taken_is_not_sent_with_the_next_prompt(lab: WorkerLab) -> None:
    lab.run("--name", "tess", "--no-worktree", "--skip-permissions")
    if lab.agent == "codex":
        told = lab.fails(EXTERNAL, "send", "tess", "/notacmd foo", "--as-command")
        assert "does not take Enter" in told["message"]
    else:
        lab.ok("send", "tess", "/notacmd foo", "--as-command")
    lab.ok("send", "tess", "next one", "--wait")
    assert [text.strip() for text in asked(lab)] == ["next one"]


# -- commands of the agents' own ------------------------------------------------------------------


def test_a_command_that_asks_the_model_nothing_ends_a_wait(lab: WorkerLab) -> None:
    lab.run("--name", "tess", "--no-worktree", "--skip-permissions")
    command = "/notacommand by hand" if lab.agent == "claude" else "/mcp"
    lab.ok("send", "tess", command, "--wait", "--as-command")
    assert (lab.status("tess")["state"], lab.status("tess")["detail"]) == ("idle", "no turn")
    lab.server.enqueue(Reply(Delay(1.0), Text("said at last")))
    lab.ok("send", "tess", "and now", "--wait")
    assert lab.status("tess")["last_line"] == "said at last"
    assert len(asked(lab)) == 1


def test_a_first_prompt_with_a_slash_is_a_prompt(lab: WorkerLab) -> None:
    lab.server.enqueue(Reply(Delay(2.0), Text("said at last")))
    lab.run("/notacommand by hand", "--name", "tess", "--no-worktree", "--skip-permissions")
    [worker] = lab.json("wait", "tess")["workers"]
    assert (worker["state"], worker["last_line"]) == ("idle", "said at last")
    [prompt] = asked(lab)
    assert "/notacommand by hand" in prompt


def test_a_command_that_asks_the_model_is_waited_for(lab: WorkerLab) -> None:
    """For longer than one that asks nothing."""
    made = lab.project / ".claude" / "commands" / "greet.md"
    made.parent.mkdir(parents=True)
    made.write_text("Say hello to $ARGUMENTS")
    lab.server.enqueue(Reply(Delay(7.0), Text("hello Bob")))
    lab.run("--name", "tess", "--no-worktree", "--skip-permissions")
    command = "/greet Bob" if lab.agent == "claude" else "/init"
    lab.ok("send", "tess", command, "--as-command")
    [worker] = lab.json("wait", "tess")["workers"]
    assert (worker["state"], worker["last_line"]) == ("idle", "hello Bob")


# -- whose answer ---------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [[], ["--headless", "hello"]], ids=["pane", "headless"])
def test_everybody_gets_the_answer_to_their_own_prompt(lab: WorkerLab, start: list[str]) -> None:
    lab.run("--name", "tess", "--no-worktree", "--skip-permissions", *start)
    texts = [f"question {number}" for number in range(4)]
    with ExitStack() as stack:
        senders = [stack.enter_context(lab.begun("send", "tess", one, "--wait")) for one in texts]
        answers = [sender.communicate(timeout=PATIENCE) for sender in senders]
    assert [said for said, _ in answers] == [f"ECHO: {one}\n" for one in texts], answers


def test_the_same_prompt_twice_has_two_answers(lab: WorkerLab) -> None:
    lab.run("--name", "tess", "--no-worktree", "--skip-permissions")
    lab.server.enqueue(Reply(Delay(1.0), Text("first")), say("second"))
    with ExitStack() as stack:
        both = [stack.enter_context(lab.begun("send", "tess", "same", "--wait")) for _ in range(2)]
        answers = sorted(sender.communicate(timeout=PATIENCE)[0] for sender in both)
    assert answers == ["first\n", "second\n"]


def test_what_a_program_can_do_with_a_worker(
    lab: WorkerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in lab.environment().items():
        monkeypatch.setenv(name, value)
    worker = prong.Worker.create(
        "tess", agent=lab.agent, project=lab.project, worktree=False, skip_permissions=True
    )
    assert [worker.send("alpha"), worker.send("beta")] == ["ECHO: alpha", "ECHO: beta"]
    early = worker.fork("early", turn=1)
    assert early.send("gamma") == "ECHO: gamma"
    history = [text.strip() for text in lab.prompts("gamma")]
    assert "alpha" in history
    assert "beta" not in history

    gate = Event()
    lab.server.enqueue(Reply(Text("it begins "), Hold(gate), Text("and never ends")))
    with prong.App() as app:
        app.workers.prompts.send("tess", "think for ever")
    wait_until(lambda: worker.state is WorkerState.BUSY and "it begins" in lab.screens())
    worker.interrupt()
    gate.set()
    assert worker.state is WorkerState.IDLE
    assert worker.send("delta") == "ECHO: delta"

    worker.stop()
    assert worker.state is WorkerState.GONE
    assert worker.restart().send("epsilon") == "ECHO: epsilon"
    assert "alpha" in [text.strip() for text in lab.prompts("epsilon")]
    assert [one.name for one in prong.Worker.list()] == ["tess", "early"]
