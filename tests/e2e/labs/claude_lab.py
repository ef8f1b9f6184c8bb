"""Where messy Claude Code sessions are built: a home, a fake server and the real program."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.script import ToolCall
from prong.testing.wait import PATIENCE
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.claude_terminal import ClaudeTerminal
from tests.e2e.scenario import PROBE, RememberingAnthropic, Scenario


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


class ClaudeStream:
    """`claude -p` that goes on taking prompts and requests, as an editor's plug-in drives it."""

    def __init__(self, lab: ClaudeLab) -> None:
        argv = [str(lab.cli.program), "-p", "--verbose", "--dangerously-skip-permissions"]
        argv += ["--input-format", "stream-json", "--output-format", "stream-json"]
        self._process = subprocess.Popen(
            argv,
            cwd=lab.cwd,
            env=lab.cli.env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.session_id = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(PATIENCE)

    def prompt(self, content: str | list[dict[str, Any]]) -> None:
        """One turn. The prompt is a text, or blocks in the words of the API."""
        self.submit(content)
        self.finish()

    def submit(self, content: str | list[dict[str, Any]]) -> None:
        """Begin a turn."""
        self._send({"type": "user", "message": {"role": "user", "content": content}})

    def finish(self) -> None:
        """Wait for the end of the turn."""
        self.session_id = str(self._next("result")["session_id"])

    def wait_result(self) -> None:
        """Wait until one more tool has ended."""
        self._next("user")

    def request(self, **fields: Any) -> dict[str, Any]:
        """What the program answers to a request that is no prompt."""
        self._send({"type": "control_request", "request_id": "1", "request": fields})
        answer: dict[str, Any] = self._next("control_response")["response"]["response"]
        return answer

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _next(self, kind: str) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message: dict[str, Any] = json.loads(line)
            if message["type"] == kind:
                return message
        raise AssertionError(f"Claude Code ended before its {kind}")


Builder = Callable[[ClaudeLab], str]
BUILDERS: dict[str, Builder] = {}


def scenario(builder: Builder) -> Builder:
    """Make a builder known by its name."""
    BUILDERS[builder.__name__] = builder
    return builder


def build(name: str, folder: Path, program: Path | None = None) -> Scenario:
    """Build a scenario below `folder`, then resume it once with the probe prompt."""
    home = IsolatedHome.create(folder / "home")
    with RememberingAnthropic() as server:
        lab = ClaudeLab(home, server, ClaudeCli(home, server.url, program), home.project())
        session_id = BUILDERS[name](lab)
        server.respond = None
        server.clear_queue()
        requests, answers = server.exchanges()
        root = lab.cli.copy_sessions(folder / "before")
        path = root / lab.cli.session_file(session_id).relative_to(home.claude)
        run = lab.cli.run(PROBE, lab.cwd, resume=session_id, persist=False)
        assert run.code == 0, (run.raw, run.stderr)
        sent = server.last_prompted(PROBE).body
    return Scenario("claude", name, root, session_id, path, lab.cwd, PROBE, sent, requests, answers)


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
