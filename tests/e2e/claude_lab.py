"""Where messy Claude Code sessions are built: a home, a fake server and the real program."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prong.testing.anthropic import FakeAnthropic
from prong.testing.claude_cli import ClaudeCli
from prong.testing.claude_terminal import ClaudeTerminal
from prong.testing.home import IsolatedHome
from prong.testing.script import ToolCall
from tests.e2e.scenario import PROBE, Scenario


@dataclass(frozen=True)
class ClaudeLab:
    """A home, a fake server and the real program, for one scenario."""

    home: IsolatedHome
    server: FakeAnthropic
    cli: ClaudeCli
    cwd: Path

    @contextmanager
    def terminal(self, *arguments: str) -> Generator[ClaudeTerminal]:
        """An interactive session that is left properly, so that all is on disk."""
        with ClaudeTerminal.open(self.cli, self.cwd, arguments) as terminal:
            yield terminal
            terminal.exit()

    def settings(self, settings: dict[str, Any]) -> None:
        """Write the user settings of this home."""
        settings = {"skipDangerousModePermissionPrompt": True, **settings}
        (self.home.claude / "settings.json").write_text(json.dumps(settings))


Builder = Callable[[ClaudeLab], str]
BUILDERS: dict[str, Builder] = {}


def scenario(builder: Builder) -> Builder:
    """Make a builder known by its name."""
    BUILDERS[builder.__name__] = builder
    return builder


def build(name: str, folder: Path, program: Path | None = None) -> Scenario:
    """Build a scenario below `folder`, then resume it once with the probe prompt."""
    home = IsolatedHome.create(folder / "home")
    with FakeAnthropic() as server:
        lab = ClaudeLab(home, server, ClaudeCli(home, server.url, program), home.project())
        session_id = BUILDERS[name](lab)
        server.respond = None
        server.clear_queue()
        native = [request.body for request in server.conversation_requests()]
        root = lab.cli.copy_sessions(folder / "before")
        path = root / lab.cli.session_file(session_id).relative_to(home.claude)
        run = lab.cli.run(PROBE, lab.cwd, resume=session_id, persist=False)
        assert run.code == 0, (run.raw, run.stderr)
        sent = server.last_prompted(PROBE).body
    return Scenario("claude", name, root, session_id, path, lab.cwd, PROBE, sent, native)


def probe_interactively(lab_folder: Path, session_id: str) -> dict[str, Any]:
    """Resume a built session in the terminal UI: the body that it sends. Changes the file."""
    home = IsolatedHome.create(lab_folder / "home")
    with FakeAnthropic() as server:
        lab = ClaudeLab(home, server, ClaudeCli(home, server.url), home.project())
        with lab.terminal("--resume", session_id) as terminal:
            terminal.prompt(PROBE)
        return server.last_prompted(PROBE).body


def bash(command: str) -> ToolCall:
    """A call of the Bash tool."""
    return ToolCall("Bash", {"command": command, "description": "test"})
