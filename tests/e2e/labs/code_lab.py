"""A desk with a real agent, prong's hooks and a repository, where turns change files.

The working tree is written down at the end of every turn, without prong. Both agents do the same,
each with its own tools, so that both have the same code at the same turn.
"""

from __future__ import annotations

import json
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import prong as package
from prong.agents.base import AgentStore
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.code.snapshots import snapshot as snapshots
from prong.model.code import Snapshot
from prong.model.sessions import Conversation
from prong.testing.home import IsolatedHome
from prong.testing.script import Hold, Reply, Text, call, say
from prong.testing.server import RequestKind
from prong.testing.wait import PATIENCE, wait_until
from tests.cli.shell import prong
from tests.code.lab import Lab
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.claude_terminal import ClaudeTerminal
from tests.drivers.codex_cli import CodexCli
from tests.drivers.codex_terminal import CodexTerminal
from tests.drivers.requests import Item
from tests.e2e.command_line import environment
from tests.e2e.fidelity.native import Native
from tests.e2e.scenario import PROBE, RememberingAnthropic, RememberingOpenAI, Scenario

SOURCE = str(Path(package.__file__).parents[1])


class HookedClaude(ClaudeCli):
    """Claude Code whose hooks find the prong that is tested."""

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return super().env({"PYTHONPATH": SOURCE, **(extra or {})})


class HookedCodex(CodexCli):
    """The same for Codex. A folder that is trusted later leaves the other settings alone."""

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return super().env({"PYTHONPATH": SOURCE, **(extra or {})})

    def trust(self, cwd: Path) -> None:
        config = self.home.codex / "config.toml"
        head = f'[projects."{cwd.resolve()}"]'
        if head not in config.read_text():
            config.write_text(f'{config.read_text()}\n{head}\ntrust_level = "trusted"\n')


Terminal = ClaudeTerminal | CodexTerminal
Files = dict[bytes, tuple[str, bytes]]
"""Path -> mode and content; that of a symlink is where it leads to."""


@dataclass(frozen=True)
class Code:
    """A working tree as it lies there: what git does not ignore, and what it says about it."""

    files: Files
    status: bytes

    @classmethod
    def of(cls, folder: Path) -> Code:
        lab = Lab(folder)
        # The user's git would write what it learns into the index, and we are nobody here.
        status = lab.git("--no-optional-locks", "status", "--porcelain=v2", "-z", "-uall")
        return cls(lab.lying(), status)


class Desk(ABC):
    """An agent with prong's hooks at a user's repository, and what came of the turns so far."""

    agent: str
    server: RememberingAnthropic | RememberingOpenAI
    cli: ClaudeCli | CodexCli
    store: AgentStore

    def __init__(self, home: IsolatedHome) -> None:
        self.home = home
        self.top = home.project("shop")
        self.user = Lab(self.top)
        self.session = ""
        self.codes: dict[str, Code] = {}
        """The code at the end of each turn by its prompt; "" is before the first."""
        self.touched: dict[str, tuple[object, object]] = {}
        """What is the user's before and after a turn in which the agent calls no git."""

    # -- the agent ------------------------------------------------------------------------------

    @abstractmethod
    def terminal(self) -> Terminal:
        """A session that is open in the terminal UI until the `with` block ends."""

    @abstractmethod
    def shell(self, command: str) -> Reply: ...

    @abstractmethod
    def writes(self, name: str, text: str) -> list[Reply]: ...

    @abstractmethod
    def edits(self, name: str, old: str, new: str) -> list[Reply]: ...

    @abstractmethod
    def rewind(self, terminal: Terminal, prompt: str) -> None:
        """Take the last prompt back, and what it did to the code."""

    @abstractmethod
    def open_session(self, terminal: Terminal) -> str: ...

    @abstractmethod
    def path(self) -> Path:
        """The file of the session."""

    @abstractmethod
    def resumed(self) -> dict[str, Any]:
        """What the agent sends when it resumes the session; the session stays as it is."""

    @abstractmethod
    def run(self, fork: dict[str, Any]) -> None:
        """The first turn of a fork, headless; its prompt is the probe."""

    @abstractmethod
    def forked_natively(self) -> str:
        """A fork that the agent makes itself, with the probe as first prompt."""

    # -- turns ----------------------------------------------------------------------------------

    def turn(self, terminal: Terminal, prompt: str, *replies: Reply) -> None:
        """A whole turn, and the code at its end."""
        before = self._users()
        self.server.enqueue(*replies, say(f"{prompt} is done"))
        terminal.prompt(prompt)
        self.codes[prompt] = Code.of(self.top)
        self.touched[prompt] = before, self._users()

    def half_a_turn(self, terminal: Terminal, prompt: str, command: str) -> None:
        """A turn that is interrupted behind its first command."""
        gate = threading.Event()
        self.server.enqueue(self.shell(command), Reply(Text("And now"), Hold(gate), Text(" more")))
        asked = len(self.server.conversation_requests())
        terminal.submit(prompt)
        # The prompt, and then what the command said.
        wait_until(
            lambda: len(self.server.conversation_requests()) >= asked + 2, what="the second request"
        )
        terminal.interrupt()
        gate.set()
        self.codes[prompt] = Code.of(self.top)

    def _users(self) -> object:
        """The index, the head, branches, the stash and the settings, byte for byte."""
        refs = self.user.word("for-each-ref").splitlines()
        names = "index", "HEAD", "config", "logs/refs/stash", "info/exclude"
        return (
            [ref for ref in refs if "\trefs/prong/" not in ref],
            [(self.top / ".git" / name).read_bytes() for name in names],
        )

    # -- prong ----------------------------------------------------------------------------------

    def prong(self, *words: str) -> dict[str, Any]:
        """What `prong ... --json` prints."""
        done = subprocess.run(
            prong(*words, "--json"),
            cwd=self.home.root,
            env=environment(self.home, self.cli.env(), self.cli.program),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    def install(self) -> None:
        [told] = self.prong("hooks", "install", "--agent", self.agent, "--yes")["hooks"]
        assert told["changed"]

    @property
    def ref(self) -> str:
        return f"{self.agent}:{self.session}"

    def snapshots(self) -> dict[str, Snapshot]:
        """The snapshots of the session by the id of their turn, as the repository has them."""
        found = snapshots.find(self.top)
        return {one.turn_id: one for one in found if one.session == self.session}

    def conversation(self) -> Conversation:
        session = self.store.session_at(self.path())
        assert session is not None
        return self.store.conversation(session)

    # -- what the model gets --------------------------------------------------------------------

    def native(self, resumed: dict[str, Any]) -> Native:
        """What the agent itself has sent so far."""
        requests, answers = self.server.exchanges()
        scenario = Scenario(
            self.agent,
            "code",
            self.store.roots[0],
            self.session,
            self.path(),
            self.top,
            PROBE,
            resumed,
            requests,
            answers,
        )
        return Native(scenario, self.conversation())

    def sent_after(self, number: int, native: Native) -> list[Item]:
        """The first main request behind this one, as items."""
        request = self.server.wait_for(lambda one: one.kind is RequestKind.MAIN, since=number)
        return native.items(request.body)


class ClaudeDesk(Desk):
    agent = "claude"

    def __init__(self, home: IsolatedHome, server: RememberingAnthropic, program: Path) -> None:
        super().__init__(home)
        self.server = server
        self.cli = self.claude = HookedClaude(home, server.url, program)
        self.store = ClaudeStore([home.claude])

    def terminal(self) -> Terminal:
        return ClaudeTerminal.open(self.claude, self.top)

    def shell(self, command: str) -> Reply:
        return call("Bash", command=command)

    def writes(self, name: str, text: str) -> list[Reply]:
        return [call("Write", file_path=str(self.top / name), content=text)]

    def edits(self, name: str, old: str, new: str) -> list[Reply]:
        path = str(self.top / name)
        edit = call("Edit", file_path=path, old_string=old, new_string=new)
        return [call("Read", file_path=path), edit]

    def rewind(self, terminal: Terminal, prompt: str) -> None:
        assert isinstance(terminal, ClaudeTerminal)
        terminal.rewind(prompt, "Restore code and conversation")
        terminal.clear_input()

    def open_session(self, terminal: Terminal) -> str:
        assert isinstance(terminal, ClaudeTerminal)
        return terminal.session_id()

    def path(self) -> Path:
        return self.claude.session_file(self.session)

    def resumed(self) -> dict[str, Any]:
        off = {"PRONG_HOOK": "off"}
        run = self.claude.run(PROBE, self.top, resume=self.session, persist=False, env=off)
        assert run.code == 0, (run.raw, run.stderr)
        return self.server.last_prompted(PROBE).body

    def forked_natively(self) -> str:
        run = self.claude.run(PROBE, self.top, resume=self.session, fork=True)
        assert run.code == 0, (run.raw, run.stderr)
        return f"claude:{run.session_id}"

    def run(self, fork: dict[str, Any]) -> None:
        headless = ["-p", "--output-format", "json", "--dangerously-skip-permissions"]
        done = subprocess.run(
            [str(self.claude.program), *headless, *fork["command"][1:]],
            cwd=fork["cwd"],
            env=self.claude.env(fork["env"]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, (fork["command"], done.stdout, done.stderr)


class CodexDesk(Desk):
    agent = "codex"

    def __init__(self, home: IsolatedHome, server: RememberingOpenAI, program: Path) -> None:
        super().__init__(home)
        self.server = server
        self.cli = self.codex = HookedCodex(home, server.url, program)
        self.store = CodexStore([home.codex])

    def terminal(self) -> Terminal:
        return CodexTerminal.open(self.codex, self.top)

    def shell(self, command: str) -> Reply:
        return call("exec_command", cmd=command)

    def writes(self, name: str, text: str) -> list[Reply]:
        added = "".join(f"+{line}\n" for line in text.splitlines())
        return [self._patch(f"*** Add File: {name}\n{added}")]

    def edits(self, name: str, old: str, new: str) -> list[Reply]:
        return [self._patch(f"*** Update File: {name}\n@@\n-{old}\n+{new}\n")]

    def _patch(self, body: str) -> Reply:
        patch = f"*** Begin Patch\n{body}*** End Patch"
        return self.shell(f"apply_patch <<'EOF'\n{patch}\nEOF")

    def rewind(self, terminal: Terminal, prompt: str) -> None:
        assert isinstance(terminal, CodexTerminal)
        terminal.rewind(prompt)
        # Codex leaves the code to the user.
        self.user.git("checkout", "src/app.py")
        (self.top / "gamma.txt").unlink()

    def open_session(self, terminal: Terminal) -> str:
        assert isinstance(terminal, CodexTerminal)
        return terminal.thread_id()

    def path(self) -> Path:
        return self.codex.live_rollout(self.session)

    def resumed(self) -> dict[str, Any]:
        run = self.codex.fork(self.session, PROBE, self.top, ephemeral=True)
        assert run.code == 0, (run.events, run.stderr)
        return self.server.last_prompted(PROBE).body

    def forked_natively(self) -> str:
        run = self.codex.fork(self.session, PROBE, self.top)
        assert run.code == 0, (run.events, run.stderr)
        return f"codex:{run.thread_id}"

    def run(self, fork: dict[str, Any]) -> None:
        cwd = Path(fork["cwd"])
        if fork["path"] is None:
            done = self.codex.run(PROBE, cwd)  # before the first turn there is nothing to resume
        else:
            done = self.codex.resume(fork["child"].partition(":")[2], PROBE, cwd)
        assert done.code == 0, (done.events, done.stderr)


@contextmanager
def desk_of(agent: str, folder: Path, program: Path) -> Generator[Desk]:
    """A desk at which nothing has happened yet."""
    home = IsolatedHome.create(folder / "home")
    if agent == "claude":
        with RememberingAnthropic() as server:
            yield ClaudeDesk(home, server, program)
    else:
        with RememberingOpenAI() as server:
            yield CodexDesk(home, server, program)
