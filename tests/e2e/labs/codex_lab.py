"""Where messy Codex threads are built: a home, a fake server and the real program."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from prong.testing.script import ToolCall
from tests.drivers.codex_cli import CodexCli
from tests.drivers.codex_server import CodexServer
from tests.drivers.codex_terminal import CodexTerminal
from tests.e2e.scenario import PROBE, RememberingOpenAI, Scenario


@dataclass(frozen=True)
class CodexLab:
    """A home, a fake server and the real program, for one scenario."""

    home: IsolatedHome
    server: FakeOpenAI
    cli: CodexCli
    cwd: Path

    def app_server(self) -> CodexServer:
        """A running app-server; leave its `with` block before another process uses a thread."""
        return CodexServer(self.cli, self.cwd)

    @contextmanager
    def terminal(self, *arguments: str, thread: str = "") -> Generator[CodexTerminal]:
        """An interactive thread that is left properly."""
        with CodexTerminal.open(self.cli, self.cwd, arguments, thread) as terminal:
            yield terminal
            terminal.exit()

    def turns(self, *prompts: str) -> str:
        """A new thread with these plain turns."""
        thread = self.cli.run(prompts[0], self.cwd).thread_id
        for prompt in prompts[1:]:
            self.cli.resume(thread, prompt, self.cwd)
        return thread


Builder = Callable[[CodexLab], str]
BUILDERS: dict[str, Builder] = {}

PLAIN = ("alpha one", "beta two", "gamma three")


def scenario(builder: Builder) -> Builder:
    """Make a builder known by its name."""
    BUILDERS[builder.__name__] = builder
    return builder


def build(name: str, folder: Path, program: Path | None = None) -> Scenario:
    """Build a scenario below `folder`, then resume it once with the probe prompt."""
    home = IsolatedHome.create(folder / "home")
    with RememberingOpenAI() as server:
        lab = CodexLab(home, server, CodexCli(home, server.url, program), home.project())
        thread_id = BUILDERS[name](lab)
        server.respond = None
        server.clear_queue()
        requests, answers = server.exchanges()
        root = lab.cli.copy_sessions(folder / "before")
        path = root / lab.cli.live_rollout(thread_id).relative_to(home.codex)
        run = lab.cli.resume(thread_id, PROBE, lab.cwd)
        assert (run.code, run.thread_id) == (0, thread_id), (run.events, run.stderr)
        sent = server.last_prompted(PROBE).body
    return Scenario("codex", name, root, thread_id, path, lab.cwd, PROBE, sent, requests, answers)


def command(text: str) -> ToolCall:
    """A call of the shell tool."""
    return ToolCall("exec_command", {"cmd": text})
