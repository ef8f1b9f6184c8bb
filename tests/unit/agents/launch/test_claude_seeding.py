"""A seed for Claude Code: the command, and the answer in what the program prints."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from prong.agents.claude.output import seed_answer
from prong.agents.claude.store import ClaudeStore
from prong.agents.headless import NOTHING_SAID, ProgramAnswer
from prong.model.forks import Child, ForkPoint
from prong.model.record import replace
from prong.model.sessions import SessionRef
from prong.testing.home import IsolatedHome

ID = "70309e1e-2222-4222-8222-222222222222"
CHILD = Child(ID, Path("/w/a b"), ForkPoint(SessionRef("codex", "01a1e076-654d"), 3, "turn"))
QUIET = '{"disableAllHooks":true}'


@pytest.fixture
def root(isolated_home: IsolatedHome) -> Path:
    return isolated_home.claude


def store(command: str, roots: list[Path]) -> ClaudeStore:
    return ClaudeStore(roots).with_command(command)


class TestCommand:
    def test_no_tools_no_servers_no_hooks(self, root: Path) -> None:
        launch = store("claude", [root]).seed(CHILD)
        line = shlex.join(launch.argv)
        assert line.startswith(f"claude --print --session-id {ID} --output-format stream-json")
        assert "--tools '' --strict-mcp-config --permission-mode dontAsk" in line
        assert "--system-prompt-snapshot off" in line
        assert f"--settings '{QUIET}'" in line
        assert (launch.cwd, launch.title) == (CHILD.cwd, "fork of 01a1e076@3")
        # `@name` in the transcript must not attach a file.
        assert launch.env == {"CLAUDE_CODE_DISABLE_ATTACHMENTS": "1"}

    def test_permissions_are_never_skipped(self, root: Path) -> None:
        base = (
            "claude --dangerously-skip-permissions --allow-dangerously-skip-permissions -p -c "
            "--permission-mode bypassPermissions --tools Bash --allowedTools 'Bash(*)' --bg "
            "--mcp-config x.json --agent a --plugin-dir p --no-session-persistence -r old 'go on'"
        )
        assert store(base, [root]).seed(CHILD) == store("claude", [root]).seed(CHILD)

    def test_the_model_and_its_instructions_stay(self, root: Path) -> None:
        kept = "--model opus --append-system-prompt -c --effort high --add-dir a b"
        launch = store(f"claude {kept} --verbose", [root]).seed(CHILD)
        plain = store("claude", [root]).seed(CHILD)
        assert launch.argv == ("claude", *shlex.split(kept), *plain.argv[1:])

    def test_settings_of_the_user_stay(self, root: Path) -> None:
        launch = store("claude --settings s.json", [root]).seed(CHILD)
        assert launch.argv[:3] == ("claude", "--settings", "s.json")
        assert launch.argv.count("--settings") == 1

    def test_a_title(self, root: Path) -> None:
        argv = store("claude", [root]).seed(replace(CHILD, title="my fork")).argv
        assert argv[argv.index("--name") + 1] == "my fork"

    def test_a_line_for_a_shell_and_another_root(self, tmp_path: Path) -> None:
        launch = store("cd x && claude --model opus --bg", [tmp_path]).seed(CHILD)
        assert launch.argv[:2] == ("sh", "-c")
        assert launch.argv[2].startswith("cd x && claude --model opus --print --session-id")
        assert launch.env["CLAUDE_CONFIG_DIR"] == str(tmp_path)


def said(*content: Mapping[str, Any], id: str = "m1", **more: Any) -> str:  # noqa: A002
    message = {"id": id, "model": "opus", "content": list(content), **more.pop("message", {})}
    return line(type="assistant", message=message, session_id=ID, **more)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def line(**event: Any) -> str:
    return json.dumps(event) + "\n"


INIT = line(type="system", subtype="init", session_id=ID, tools=[])
DONE = line(type="result", subtype="success", is_error=False, result="dy.", session_id=ID)
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "x"}


class TestAnswer:
    @pytest.mark.parametrize(
        "output",
        [
            [INIT, said(text("Ready.")), DONE],
            [INIT, said(text("Rea")), said(text("dy.")), DONE],
            [INIT, said(THOUGHT), said(text("Rea"), text("dy.")), DONE],
            ["warning\n", INIT, "\n", "{broken\n", said(text("Ready.")), DONE, "done\n"],
            # What sub-agents and the program itself say does not count.
            [INIT, said(text("x"), parent_tool_use_id="t"), said(text("Ready.")), DONE],
            [INIT, said({"type": "tool_use", "name": "Bash"}), said(text("Ready."), id="m2"), DONE],
            [INIT, line(type="user", message={"content": "x"}), said(text("Ready.")), DONE],
        ],
    )
    def test_ready(self, output: list[str]) -> None:
        assert seed_answer(output) == ProgramAnswer(ID, "Ready.", None)

    def test_several_messages(self) -> None:
        output = [INIT, said(text("Let me see.")), said(text("Ready."), id="m2"), DONE]
        assert seed_answer(output).text == "Let me see.\nReady."

    def test_an_api_error(self) -> None:
        end = line(type="result", subtype="success", is_error=True, result="API Error: 400 x")
        spoken = said(text("API Error: 400 x"), message={"model": "<synthetic>"})
        assert seed_answer([INIT, spoken, end]) == ProgramAnswer(ID, "", "API Error: 400 x")

    def test_a_failed_run(self) -> None:
        end = line(
            type="result", subtype="error_during_execution", is_error=True, errors=["a", "b"]
        )
        assert seed_answer([INIT, end]) == ProgramAnswer(ID, "", "a; b")
        end = line(type="result", subtype="error_max_turns", is_error=True)
        assert seed_answer([INIT, end]) == ProgramAnswer(ID, "", "error_max_turns")

    def test_no_answer(self) -> None:
        assert seed_answer([INIT, said(THOUGHT), DONE]) == ProgramAnswer(ID, "", NOTHING_SAID)

    def test_it_ended_early(self) -> None:
        assert seed_answer([]) == ProgramAnswer(None, "", NOTHING_SAID)
        assert seed_answer([INIT, said(text("Rea"))]) == ProgramAnswer(ID, "Rea", NOTHING_SAID)
