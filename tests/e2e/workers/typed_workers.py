"""Workers as a person has them: `prong` typed in a shell, the real agents in a tmux of its own."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from prong.testing.script import Reply, call
from prong.testing.wait import PATIENCE, wait_until
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.codex_cli import CodexCli
from tests.drivers.requests import anthropic_items, openai_items
from tests.e2e.command_line import environment
from tests.interrupts import unmeasured


class WorkerLab(ABC):
    """One agent, its model, and a terminal that nobody looks at."""

    agent: str
    server: FakeAnthropic | FakeOpenAI
    cli: ClaudeCli | CodexCli

    def __init__(self, home: IsolatedHome) -> None:
        self.home = home
        self.project = home.project("shop")
        self.socket = home.root / "tmux"
        self.more: dict[str, str] = {}
        """Further variables for prong."""

    # -- the agent ----------------------------------------------------------------------------

    @abstractmethod
    def writes(self, path: Path, text: str) -> Reply:
        """What the model says so that the agent writes a file."""

    @abstractmethod
    @abstractmethod
    def asking(self, path: Path, text: str) -> Reply:
        """The same, so that the agent asks a person first."""

    @abstractmethod
    def asks(self) -> list[str]:
        """The words of `prong run` with which the agent asks at all."""

    # -- prong --------------------------------------------------------------------------------

    def environment(self) -> dict[str, str]:
        env = environment(self.home, self.cli.env(), self.cli.program)
        return {**env, "PRONG_TMUX_SOCKET": str(self.socket), **self.more}

    def process(
        self, *words: str, text: str | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "prong", *words],
            cwd=cwd or self.project,
            env=self.environment(),
            input=text or "",
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    @contextmanager
    def begun(self, *words: str) -> Generator[subprocess.Popen[str]]:
        """A command that goes on while the test does something else."""
        with subprocess.Popen(
            [sys.executable, "-m", "prong", *words],
            cwd=self.project,
            env=unmeasured(self.environment()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def ok(self, *words: str, text: str | None = None, cwd: Path | None = None) -> str:
        done = self.process(*words, text=text, cwd=cwd)
        assert done.returncode == 0, f"{words}: {done.stderr}\n{done.stdout}\n{self.screens()}"
        return done.stdout

    def json(self, *words: str) -> dict[str, Any]:
        return json.loads(self.ok(*words, "--json"))

    def fails(self, status: int, *words: str) -> dict[str, Any]:
        done = self.process(*words, "--json")
        assert (done.returncode, done.stdout) == (status, ""), f"{done.stdout}{done.stderr}"
        return json.loads(done.stderr)

    def run(self, *words: str) -> dict[str, Any]:
        """A worker that is ready."""
        # Behind `--` stand words for the agent.
        done = self.ok("run", "--agent", self.agent, "--json", *words)
        return json.loads(done)["worker"]

    def status(self, name: str) -> dict[str, Any]:
        return self.json("status", name)

    def wait_state(self, name: str, state: str) -> dict[str, Any]:
        """Look until a worker is in a state; what was seen then."""
        seen: dict[str, Any] = {}

        def there() -> bool:
            seen.update(self.status(name))
            return seen["state"] == state

        try:
            wait_until(there, what=f"{name}: {state}")
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {seen}\n{self.screens()}") from None
        return seen

    # -- looking ------------------------------------------------------------------------------

    def tmux(self, *words: str) -> str:
        argv = ["tmux", "-S", str(self.socket), *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout

    def panes(self) -> list[str]:
        return self.tmux("list-panes", "-a", "-F", "#{pane_id}").split()

    def screens(self) -> str:
        shown = {pane: self.tmux("capture-pane", "-p", "-t", pane) for pane in self.panes()}
        return "\n".join(f"--- {pane}\n{text.rstrip()}" for pane, text in shown.items())

    def path_of(self, worker: dict[str, Any]) -> Path:
        """The session file of a worker."""
        ref = self.status(worker["name"])["session"]
        return Path(self.json("show", ref)["session"]["path"])

    def prompts(self, text: str) -> list[str]:
        """All prompts that the model got with a request whose last prompt has the text."""
        body = self.server.last_prompted(text).body
        read = anthropic_items if self.agent == "claude" else openai_items
        return [item.text for item in read(body) if item.role == "user"]

    def git(self, *words: str) -> str:
        argv = ["git", *words]
        env = self.home.env()
        done = subprocess.run(
            argv, cwd=self.project, env=env, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()


class ClaudeWorkers(WorkerLab):
    agent = "claude"

    def __init__(self, home: IsolatedHome, server: FakeAnthropic, cli: ClaudeCli) -> None:
        super().__init__(home)
        self.server = server
        self.cli = cli
        cli.prepare(self.project)

    def writes(self, path: Path, text: str) -> Reply:
        return call("Write", file_path=str(path), content=text)

    def asking(self, path: Path, text: str) -> Reply:
        return self.writes(path, text)

    def asks(self) -> list[str]:
        return ["--", "--permission-mode", "default"]


class CodexWorkers(WorkerLab):
    agent = "codex"

    def __init__(self, home: IsolatedHome, server: FakeOpenAI, cli: CodexCli) -> None:
        super().__init__(home)
        self.server = server
        self.cli = cli
        cli.trust(self.project)

    def writes(self, path: Path, text: str) -> Reply:
        return call("exec_command", cmd=f"printf %s '{text}' > '{path}'")

    def asking(self, path: Path, text: str) -> Reply:
        return call(
            "exec_command",
            cmd=f"printf %s '{text}' > '{path}'",
            sandbox_permissions="require_escalated",
            justification="it must be written",
        )

    def asks(self) -> list[str]:
        return ["--", "-c", 'approval_policy="on-request"', "-c", 'sandbox_mode="workspace-write"']


@contextmanager
def ended(lab: WorkerLab) -> Generator[WorkerLab]:
    """The lab, whose tmux and whose headless agents end with the block."""
    try:
        yield lab
    finally:
        for worker in json.loads(lab.process("ps", "--all", "--json").stdout)["workers"]:
            if worker["headless"]:
                lab.process("stop", worker["name"], "--force")
        lab.tmux("kill-server")


def opened(request: pytest.FixtureRequest, home: IsolatedHome) -> WorkerLab:
    """The lab of the agent that a parametrized fixture asks for."""
    if request.param == "claude":
        server = request.getfixturevalue("fake_anthropic")
        return ClaudeWorkers(home, server, request.getfixturevalue("claude_cli"))
    server = request.getfixturevalue("fake_openai")
    return CodexWorkers(home, server, request.getfixturevalue("codex_cli"))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
