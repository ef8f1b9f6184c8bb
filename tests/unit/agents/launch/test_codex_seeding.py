"""A seed for Codex: the command, and the answer in what the program prints."""

import json
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from prong.agents.codex.output import seed_answer
from prong.agents.codex.store import CodexStore
from prong.agents.headless import NOTHING_SAID, ProgramAnswer
from prong.model.forks import Child, ForkPoint
from prong.model.sessions import SessionRef
from prong.testing.home import IsolatedHome

ID = "01a1e076-e558-7222-8222-222222222222"
POINT = ForkPoint(SessionRef("claude", "60309e1e-1111"), 3, "turn")


@pytest.fixture
def root(isolated_home: IsolatedHome) -> Path:
    return isolated_home.codex


@pytest.fixture
def child(tmp_path: Path) -> Child:
    return Child(None, tmp_path / "a b", POINT)


def settings(argv: tuple[str, ...]) -> dict[str, Any]:
    """What the `-c` flags set; the last one wins."""
    given: dict[str, Any] = {}
    for flag, value in pairwise(argv):
        if flag == "-c":
            key, _, text = value.partition("=")
            given[key] = tomllib.loads(f"x = {text}")["x"]
    return given


def store(command: str, roots: list[Path]) -> CodexStore:
    return CodexStore(roots).with_command(command)


class TestCommand:
    def test_no_tools_and_no_permissions(self, root: Path, child: Child) -> None:
        launch = store("codex", [root]).seed(child)
        where = ("-C", str(child.cwd), "--skip-git-repo-check")
        assert launch.argv[:5] == ("codex", "exec", *where)
        assert launch.argv[5:8] == ("--json", "--sandbox", "read-only")
        assert launch.argv[-1] == "-"
        given = settings(launch.argv)
        assert given["approval_policy"] == "never"
        assert given["features.shell_tool"] is False
        assert given["agents.max_depth"] == 0
        assert given["notify"] == []
        assert "mcp_servers" not in given
        assert (launch.cwd, launch.env, launch.title) == (child.cwd, {}, "fork of 60309e1e@3")

    def test_what_the_base_command_says(self, root: Path, child: Child) -> None:
        plain = store("codex", [root]).seed(child)
        base = "codex --yolo -m X -a never --sandbox danger-full-access -c a=1 resume old"
        launch = store(base, [root]).seed(child)
        assert launch.argv == ("codex", "exec", "-m", "X", "-c", "a=1", *plain.argv[2:])

    def test_a_setting_of_the_base_command_does_not_win(self, root: Path, child: Child) -> None:
        launch = store("codex -c features.shell_tool=true", [root]).seed(child)
        assert settings(launch.argv)["features.shell_tool"] is False

    def test_mcp_servers_are_left_out_by_name(self, root: Path, child: Child) -> None:
        (root / "config.toml").write_text(
            '[mcp_servers.finder]\ncommand = "x"\n[mcp_servers."a b.\\"é"]\nurl = "https://x"\n',
            encoding="utf-8",
        )
        (root / "work.config.toml").write_text('[mcp_servers.work]\ncommand = "x"\n')
        project = child.cwd / ".codex/config.toml"
        project.parent.mkdir(parents=True)
        project.write_text('[mcp_servers.local]\ncommand = "x"\n')
        (child.cwd.parent / ".codex").mkdir()
        (child.cwd.parent / ".codex/config.toml").write_text("= broken")
        given = settings(store("codex", [root]).seed(child).argv)["mcp_servers"]
        assert given == {
            "finder": {"enabled": False, "command": "true"},
            'a b."é': {"enabled": False, "url": "http://127.0.0.1:9"},
            "work": {"enabled": False, "command": "true"},
            "local": {"enabled": False, "command": "true"},
        }

    def test_strange_configurations(self, root: Path, child: Child) -> None:
        for text in ("mcp_servers = 1", "mcp_servers = []", "mcp_servers.x = 1", "\xff"):
            (root / "config.toml").write_text(text, encoding="latin-1")
            store("codex", [root]).seed(child)

    def test_another_root(self, tmp_path: Path, child: Child) -> None:
        launch = store("codex", [tmp_path]).seed(child)
        assert launch.env == {"CODEX_HOME": str(tmp_path)}


def line(**event: Any) -> str:
    return json.dumps(event) + "\n"


def item(kind: str, **more: Any) -> str:
    return line(type="item.completed", item={"id": "item_1", "type": kind, **more})


START = line(type="thread.started", thread_id=ID)
DONE = line(type="turn.completed", usage={"input_tokens": 1})
WARNING = item("error", message="Model metadata not found")
REFUSED = json.dumps({"type": "error", "error": {"type": "x", "message": "too long"}})


class TestAnswer:
    @pytest.mark.parametrize(
        "output",
        [
            [START, item("agent_message", text="Ready."), DONE],
            [
                START,
                WARNING,
                item("reasoning", text="hm"),
                item("agent_message", text="Ready."),
                DONE,
            ],
            [START, item("agent_message", text="Rea"), item("agent_message", text="dy."), DONE],
            ["done\n", START, "{\n", item("agent_message", text="Ready."), DONE],
            # It tried again, and that went well.
            [
                START,
                line(type="error", message="again"),
                item("agent_message", text="Ready."),
                DONE,
            ],
            [START, item("mcp_tool_call", text=None), item("agent_message", text="Ready."), DONE],
        ],
    )
    def test_ready(self, output: list[str]) -> None:
        assert seed_answer(output) == ProgramAnswer(ID, "Ready.", None)

    @pytest.mark.parametrize(
        ("failure", "error"),
        [(REFUSED, "too long"), ("plain words", "plain words"), ("{}", "{}"), ("", NOTHING_SAID)],
    )
    def test_a_failed_turn(self, failure: str, error: str) -> None:
        failed = line(type="turn.failed", error={"message": failure})
        assert seed_answer([START, WARNING, failed]) == ProgramAnswer(ID, "", error)
        shown = line(type="error", message=failure)
        assert seed_answer([START, shown]) == ProgramAnswer(ID, "", error)

    def test_no_answer(self) -> None:
        thought = item("reasoning", text="hm")
        assert seed_answer([START, thought, DONE]) == ProgramAnswer(ID, "", NOTHING_SAID)
        assert seed_answer([START]) == ProgramAnswer(ID, "", NOTHING_SAID)
        assert seed_answer([]) == ProgramAnswer(None, "", NOTHING_SAID)
