"""Forking while the real agent is at work: refused, waited for, or done at an earlier turn."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from prong.testing.script import Hold, Reply, Text
from tests.cli.shell import prong
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.claude_terminal import ClaudeTerminal
from tests.drivers.codex_cli import CodexCli
from tests.e2e.command_line import environment
from tests.interrupts import ending, unmeasured

WAITING = "waiting until"


@dataclass
class AtWork:
    """An agent that has done one turn and is held in the middle of the second."""

    agent: str
    session: str
    path: Path
    env: dict[str, str]
    gate: threading.Event
    cwd: Path

    def command(self, *words: str) -> list[str]:
        return prong("fork", *words, "--json", "--yes")

    def fork(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            env=self.env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def turns(self, made: dict[str, Any]) -> list[str]:
        done = subprocess.run(
            prong("turns", made["child"], "--json"),
            env=self.env,
            capture_output=True,
            text=True,
            check=True,
        )
        return [turn["prompt"] for turn in json.loads(done.stdout)["turns"]]


@contextmanager
def claude_at_work(home: IsolatedHome, server: FakeAnthropic, cli: ClaudeCli) -> Generator[AtWork]:
    gate = threading.Event()
    cwd = home.project()
    with ClaudeTerminal.open(cli, cwd) as terminal:
        terminal.prompt("alpha one")
        path = terminal.session_path()
        assert path is not None
        server.enqueue(Reply(Text("half"), Hold(gate), Text(" done")))
        terminal.mark()
        terminal.submit("beta two")
        terminal.wait_busy()
        terminal.wait_written(b"beta two")
        env = environment(home, cli.env(), cli.program)
        try:
            yield AtWork("claude", path.stem, path, env, gate, cwd)
        finally:
            gate.set()
            terminal.wait_idle()


@contextmanager
def codex_at_work(home: IsolatedHome, server: FakeOpenAI, cli: CodexCli) -> Generator[AtWork]:
    gate = threading.Event()
    cwd = home.project()
    thread = cli.run("alpha one", cwd).thread_id
    server.enqueue(Reply(Hold(gate), Text("done")))
    worker = threading.Thread(target=cli.resume, args=(thread, "beta two", cwd))
    worker.start()
    try:
        server.wait_for_prompt("beta two")
        env = environment(home, cli.env(), cli.program)
        yield AtWork("codex", thread, cli.live_rollout(thread), env, gate, cwd)
    finally:
        gate.set()
        worker.join(timeout=60)


@pytest.fixture(params=["claude", "codex"])
def work(request: pytest.FixtureRequest, isolated_home: IsolatedHome) -> Generator[AtWork]:
    if request.param == "claude":
        server: FakeAnthropic = request.getfixturevalue("fake_anthropic")
        with claude_at_work(isolated_home, server, request.getfixturevalue("claude_cli")) as work:
            yield work
    else:
        openai: FakeOpenAI = request.getfixturevalue("fake_openai")
        with codex_at_work(isolated_home, openai, request.getfixturevalue("codex_cli")) as work:
            yield work


def test_the_running_turn_is_refused_and_an_earlier_one_is_not(work: AtWork) -> None:
    before = work.path.read_bytes()
    refused = work.fork(work.session)
    assert refused.returncode == 4
    problem = json.loads(refused.stderr)
    assert problem["code"] == "busy"
    assert "--wait" in problem["hint"]
    assert f"{work.session}@1" in problem["hint"]
    made = json.loads(work.fork(f"{work.session}@1").stdout)["fork"]
    assert work.turns(made) == ["alpha one"]
    assert any("working on a later turn" in warning for warning in made["warnings"])
    # The agent is at work: it may add lines, nobody else does.
    assert work.path.read_bytes().startswith(before)


def test_wait(work: AtWork) -> None:
    short = work.fork(work.session, "--wait", "0.5")
    assert short.returncode == 4
    assert WAITING in short.stderr
    process = subprocess.Popen(
        work.command("--wait", work.session),
        env=work.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert WAITING in process.stderr.readline()
    work.gate.set()
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert work.turns(json.loads(said)["fork"]) == ["alpha one", "beta two"]


def test_control_c_while_waiting(work: AtWork) -> None:
    before = sorted(work.path.parents[1].rglob("*.jsonl"))
    process = subprocess.Popen(
        work.command(work.session, "--wait"),
        env=unmeasured(work.env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with ending(process):
        assert process.stderr is not None
        assert WAITING in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "")
    assert sorted(work.path.parents[1].rglob("*.jsonl")) == before


def test_an_open_session_is_not_resumed_a_second_time(work: AtWork) -> None:
    done = subprocess.run(
        prong("resume", work.session, "--json"),
        env=work.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert json.loads(done.stderr)["hint"].startswith("prong fork")
