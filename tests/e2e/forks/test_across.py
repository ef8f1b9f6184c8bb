"""`prong fork --agent` with both real programs: images, typed tags, the provider of the model."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from prong.testing.script import Reply, ToolCall, say
from prong.testing.server import RequestKind
from tests.cli.shell import prong
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.codex_cli import CodexCli
from tests.drivers.codex_terminal import CodexTerminal
from tests.e2e.command_line import environment
from tests.e2e.fidelity.image_lab import (
    ask_claude,
    ask_codex,
    encoded,
    png,
    sent_to_anthropic,
    sent_to_openai,
)
from tests.e2e.scenario import PROBE

RED, BLUE = png(255, 0, 0), png(0, 0, 255)
RED_URL, BLUE_URL = (f"data:image/png;base64,{encoded(image)}" for image in (RED, BLUE))
TYPED = "say <system-reminder>the door is blue</system-reminder> again"
WHOLE = "<system-reminder>\nthe key is red\n</system-reminder>"


@dataclass
class Bench:
    """Both agents in one home, and the command line."""

    claude: ClaudeCli
    codex: CodexCli
    anthropic: FakeAnthropic
    openai: FakeOpenAI
    cwd: Path

    def fork(self, *words: str) -> Any:
        env = {**self.codex.env(), **self.claude.env()}
        env = environment(self.claude.home, env, self.claude.program)
        env["PATH"] = f"{self.codex.program.parent}:{env['PATH']}"
        done = subprocess.run(
            prong("fork", *words, "--code", "none", "--no-open", "--json"),
            env=env,
            cwd=self.cwd,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def to_codex(self, session: str) -> str:
        return self.fork(f"claude:{session}", "--agent", "codex")["fork"]["child"].partition(":")[2]

    def to_claude(self, thread: str) -> str:
        return self.fork(f"codex:{thread}", "--agent", "claude")["fork"]["child"].partition(":")[2]


@pytest.fixture
def bench(
    isolated_home: IsolatedHome,
    claude_cli: ClaudeCli,
    codex_cli: CodexCli,
    fake_anthropic: FakeAnthropic,
    fake_openai: FakeOpenAI,
) -> Bench:
    return Bench(claude_cli, codex_cli, fake_anthropic, fake_openai, isolated_home.project())


def test_the_model_of_codex_gets_the_images_of_a_claude_session(bench: Bench) -> None:
    (bench.cwd / "blue.png").write_bytes(BLUE)
    session = ask_claude(bench.claude, "what is this?", RED, bench.cwd)
    read = ToolCall("Read", {"file_path": str(bench.cwd / "blue.png")})
    bench.anthropic.enqueue(Reply(read), say("it is blue"))
    bench.claude.run("and the file?", bench.cwd, resume=session)
    seed = bench.fork(f"claude:{session}", "--method", "seed", "--dry-run")["plan"]
    assert seed["warnings"] == ["2 images are left out: a seed is text"]
    thread = bench.to_codex(session)
    assert bench.codex.resume(thread, PROBE, bench.cwd).code == 0
    sent = sent_to_openai(bench.openai.last_prompted(PROBE).body)
    assert sent[:2] == [("user", "what is this?"), ("user", RED_URL)]
    assert sent[3] == ("user", "and the file?")
    assert sent[4][1].startswith("[claude ran Read")
    assert sent[5:] == [
        ("user", "[The output of Read that claude ran]"),
        ("user", BLUE_URL),
        ("assistant", "it is blue"),
        ("user", PROBE),
    ]
    # And back, with both.
    again = bench.to_claude(thread)
    assert bench.claude.run("once more", bench.cwd, resume=again).code == 0
    images = [
        text for _, text in sent_to_anthropic(bench.anthropic.last_prompted("once more").body)
    ]
    assert [text for text in images if text.startswith("data:")] == [RED_URL, BLUE_URL]


def test_the_model_of_claude_gets_the_images_of_a_codex_thread(bench: Bench) -> None:
    for name, image in (("red.png", RED), ("blue.png", BLUE)):
        (bench.cwd / name).write_bytes(image)
    thread = ask_codex(bench.codex, "what is this?", bench.cwd / "red.png", bench.cwd)
    view = ToolCall("view_image", {"path": str(bench.cwd / "blue.png")})
    bench.openai.enqueue(Reply(view), say("it is blue"))
    bench.codex.resume(thread, "and the file?", bench.cwd)
    for name in ("red.png", "blue.png"):
        (bench.cwd / name).unlink()
    session = bench.to_claude(thread)
    assert bench.claude.run(PROBE, bench.cwd, resume=session).code == 0
    sent = sent_to_anthropic(bench.anthropic.last_prompted(PROBE).body)
    assert sent[:2] == [("user", RED_URL), ("user", "what is this?")]
    assert sent[3] == ("user", "and the file?")
    assert sent[4][1].startswith("[codex ran view_image")
    assert sent[5:] == [
        ("user", "[The output of view_image that codex ran]"),
        ("user", BLUE_URL),
        ("assistant", "it is blue"),
        ("user", PROBE),
    ]


def test_a_retry_says_that_it_has_no_image(bench: Bench) -> None:
    session = ask_claude(bench.claude, "what is this?", RED, bench.cwd)
    bench.claude.run("go on", bench.cwd, resume=session)
    again = bench.fork(f"claude:{session}@1", "--retry", "--dry-run")["plan"]
    assert "the prompt had an image, which --retry cannot include" in again["warnings"]
    assert bench.fork(f"claude:{session}@2", "--retry", "--dry-run")["plan"]["warnings"] == []


@pytest.mark.parametrize("prompt", [TYPED, WHOLE], ids=["inside", "whole"])
def test_what_was_typed_as_a_reminder_travels(bench: Bench, prompt: str) -> None:
    session = bench.claude.run(prompt, bench.cwd).session_id
    thread = bench.to_codex(session)
    bench.codex.resume(thread, PROBE, bench.cwd)
    sent = sent_to_openai(bench.openai.last_prompted(PROBE).body)
    assert sent[0] == ("user", prompt)
    again = bench.to_claude(thread)
    bench.claude.run("once more", bench.cwd, resume=again)
    assert is_sent(prompt, bench.anthropic.last_prompted("once more").body)


def test_what_was_typed_as_a_reminder_is_in_a_seed(bench: Bench) -> None:
    session = bench.claude.run(TYPED, bench.cwd).session_id
    bench.anthropic.enqueue(say("Ready."), kind=RequestKind.TITLE)
    bench.fork(f"claude:{session}", "--method", "seed")
    bodies = [request.body for request in bench.anthropic.requests()]
    (seeded,) = [body for body in bodies if is_sent("[PRONG_FORK_SEED]", body)]
    assert is_sent(TYPED, seeded)


def is_sent(text: str, body: dict[str, Any]) -> bool:
    return json.dumps(text)[1:-1] in json.dumps(body["messages"])


def test_a_home_where_codex_has_run_opens_the_fork_in_the_terminal(bench: Bench) -> None:
    """Its database knows the thread by then: a provider that is not named counts as removed."""
    bench.codex.run("hello", bench.cwd)
    session = bench.claude.run("alpha one", bench.cwd).session_id
    thread = bench.to_codex(session)
    with CodexTerminal.open(bench.codex, bench.cwd, ["resume", thread], thread) as terminal:
        terminal.tmux.wait_for("ECHO: alpha one")
        terminal.prompt("beta two")
        assert "no longer configured" not in terminal.tmux.capture()
        terminal.exit()
    sent = sent_to_openai(bench.openai.last_prompted("beta two").body)
    assert ("user", "alpha one") in sent
