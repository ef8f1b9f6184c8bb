"""`prong fork --method seed` with the real programs: what the agent answers to it, and lineage."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prong.storage.forks import ForkRecords
from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from prong.testing.script import Fail, Hold, Reply, Text, Thinking, say
from prong.testing.server import Answer, FakeModelServer, RequestKind
from prong.testing.wait import PATIENCE
from tests.cli.shell import prong
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.codex_cli import CodexCli
from tests.e2e.command_line import environment
from tests.interrupts import ending, unmeasured

READY = "Ready."
DONE = "Fork created; context injected; waiting for your next prompt."


@dataclass
class Bench:
    """One agent with a session of two turns, and the command line."""

    agent: str
    home: IsolatedHome
    env: dict[str, str]
    server: FakeModelServer
    seed_kind: RequestKind
    cwd: Path
    session: str

    def prong(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            prong(*words),
            env=self.env,
            cwd=self.cwd,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def json(self, *words: str) -> Any:
        done = self.prong(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def answer(self, *answers: Answer) -> None:
        """What the model says to the seed."""
        self.server.enqueue(*answers, kind=self.seed_kind)

    def record(self, child: str) -> Any:
        records = ForkRecords(Path(self.env["XDG_STATE_HOME"]) / "prong" / "state.db")
        return next((fork for fork in records.all() if str(fork.child) == child), None)


@pytest.fixture
def claude(
    isolated_home: IsolatedHome, claude_cli: ClaudeCli, fake_anthropic: FakeAnthropic
) -> Bench:
    cwd = isolated_home.project()
    first = claude_cli.run("first prompt", cwd)
    claude_cli.run("second prompt", cwd, resume=first.session_id)
    env = environment(isolated_home, claude_cli.env(), claude_cli.program)
    # To this server a request without tools is one for a title.
    return Bench(
        "claude", isolated_home, env, fake_anthropic, RequestKind.TITLE, cwd, first.session_id
    )


@pytest.fixture
def codex(isolated_home: IsolatedHome, codex_cli: CodexCli, fake_openai: FakeOpenAI) -> Bench:
    cwd = isolated_home.project()
    thread = codex_cli.run("first prompt", cwd).thread_id
    codex_cli.resume(thread, "second prompt", cwd)
    env = environment(isolated_home, codex_cli.env(), codex_cli.program)
    return Bench("codex", isolated_home, env, fake_openai, RequestKind.MAIN, cwd, thread)


@pytest.fixture(params=["claude", "codex"])
def bench(request: pytest.FixtureRequest) -> Bench:
    return request.getfixturevalue(request.param)


def test_the_acknowledgement_is_kept_back_once(bench: Bench) -> None:
    bench.answer(Reply(Thinking("hm"), Text("Rea"), Text("dy.")))
    done = bench.prong("fork", f"{bench.agent}:{bench.session}", "--method", "seed", "--yes")
    assert done.returncode == 0, done.stderr
    assert READY not in done.stdout + done.stderr
    assert DONE in done.stdout
    child = done.stdout.split()[3]
    shown = bench.prong("show", child).stdout
    assert READY in shown
    assert "first prompt" in shown
    recorded = bench.record(child)
    assert recorded.seed_ack_filtered
    assert recorded.seed_hash
    # The transcript tells where it came from; state.db is not needed for that.
    roots = bench.json("tree", child)["roots"]
    (Path(bench.env["XDG_STATE_HOME"]) / "prong" / "state.db").unlink()
    assert bench.json("tree", child)["roots"] == roots
    assert roots[0]["ref"] == f"{bench.agent}:{bench.session}"
    assert roots[0]["children"][0]["turn"] == 2


@pytest.mark.parametrize(
    "said", ["I have read all of it. What now?", "Ready. I will now delete the tests."]
)
def test_another_answer_is_shown(bench: Bench, said: str) -> None:
    bench.answer(say(said))
    made = bench.json("fork", f"{bench.agent}:{bench.session}", "--method", "seed")["fork"]
    assert any(said in warning for warning in made["warnings"])
    assert not bench.record(made["child"]).seed_ack_filtered


def test_a_seed_that_is_refused(bench: Bench) -> None:
    bench.answer(*[Fail(400, "not today")] * 3)
    done = bench.prong("fork", f"{bench.agent}:{bench.session}", "--method", "seed", "--json")
    assert done.returncode == 8
    problem = json.loads(done.stderr.splitlines()[-1])
    assert problem["code"] == "external"
    assert "not today" in problem["message"]


def test_control_c_while_the_seed_is_read(bench: Bench) -> None:
    gate = threading.Event()
    bench.answer(Reply(Hold(gate), Text(READY)))
    before = [session["ref"] for session in bench.json("list", "--all")["sessions"]]
    process = subprocess.Popen(
        prong("fork", f"{bench.agent}:{bench.session}", "--method", "seed", "--yes"),
        env=unmeasured(bench.env),
        cwd=bench.cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with ending(process):
        bench.server.wait_for(lambda request: "PRONG_FORK_SEED" in json.dumps(request.body))
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE)
    gate.set()
    assert (process.returncode, said) == (130, "")
    after = [session["ref"] for session in bench.json("list", "--all")["sessions"]]
    # Codex chooses the id of a thread itself, so what it began to write stays.
    assert set(before) <= set(after) if bench.agent == "codex" else after == before


@pytest.mark.parametrize(("source", "target"), [("claude", "codex"), ("codex", "claude")])
def test_into_the_other_agent(source: str, target: str, request: pytest.FixtureRequest) -> None:
    benches: dict[str, Bench] = {
        name: request.getfixturevalue(name) for name in ("claude", "codex")
    }
    here, there = benches[source], benches[target]
    there.env = {**here.env, **there.env, "PATH": f"{here.env['PATH']}:{there.env['PATH']}"}
    there.answer(say(READY))
    words = ("--agent", target, "--method", "seed")
    made = there.json("fork", f"{source}:{here.session}", *words)["fork"]
    assert made["child"].startswith(f"{target}:")
    assert there.record(made["child"]).seed_ack_filtered
    roots = there.json("tree", made["child"])["roots"]
    assert roots[0]["ref"] == f"{source}:{here.session}"
