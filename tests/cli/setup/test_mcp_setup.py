"""`prong mcp install` and `prong mcp remove`, with the real agents in a throw-away home."""

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from prong.testing.wait import PATIENCE
from tests.cli.shell import Shell, prong
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.codex_cli import native_program
from tests.drivers.programs import MissingProgram, find_program

PRONG = str(Path(sys.executable).with_name("prong"))
CONFIG = '# mine\nmodel = "gpt"  # keep\n\n[tui]\nanimations = false\n'


class Lab:
    """`prong` typed beside the real agents."""

    def __init__(self, shell: Shell, programs: list[Path]) -> None:
        self.shell = shell
        self.home = shell.home
        self.project = shell.home.project("shop")
        self.path = os.pathsep.join([*(str(one.parent) for one in programs), "/usr/bin", "/bin"])
        self.env = ClaudeCli(shell.home, "http://127.0.0.1:9", programs[0]).env({"PATH": self.path})

    def run(self, *words: str, cwd: Path | None = None, **env: str) -> tuple[int, str, str]:
        done = self.shell.process("mcp", *words, cwd=cwd or self.project, env={**self.env, **env})
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def ok(self, *words: str, cwd: Path | None = None, **env: str) -> str:
        status, said, complaint = self.run(*words, cwd=cwd, **env)
        assert status == 0, complaint
        return said

    def fails(self, status: int, *words: str, **env: str) -> dict[str, Any]:
        got, said, complaint = self.run(*words, "--json", cwd=None, **env)
        assert (got, said) == (status, ""), complaint
        return json.loads(complaint)

    def answer(self, word: bytes, *words: str) -> int:
        """Type a command in a terminal, and a word when it asks."""
        master, slave = pty.openpty()
        process = subprocess.Popen(
            prong("mcp", *words),
            cwd=self.project,
            env=self.env,
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        shown = b""
        while b"Do this? [y/N]" not in shown:
            shown += os.read(master, 4096)
        os.write(master, word + b"\n")
        status = process.wait(PATIENCE)
        os.close(master)
        return status

    # -- what the agents have -----------------------------------------------------------------

    def claude(self) -> dict[str, Any]:
        return json.loads((self.home.root / ".claude.json").read_text())

    def user(self) -> dict[str, Any]:
        return self.claude().get("mcpServers", {})

    def local(self) -> dict[str, Any]:
        return self.claude()["projects"].get(str(self.project), {}).get("mcpServers", {})

    @property
    def config(self) -> Path:
        return self.home.codex / "config.toml"

    def codex(self) -> dict[str, Any]:
        return tomllib.loads(self.config.read_text()).get("mcp_servers", {})


@pytest.fixture
def lab(shell: Shell) -> Lab:
    try:
        claude = find_program("claude", "PRONG_TEST_CLAUDE", Path(__file__).parent)
        codex = find_program("codex", "PRONG_TEST_CODEX", Path(__file__).parent)
    except MissingProgram as missing:
        pytest.skip(str(missing))
    return Lab(shell, [claude, native_program(codex)])


def test_both_agents_are_told_and_the_change_is_shown(lab: Lab) -> None:
    lab.config.write_text(CONFIG)
    said = lab.ok("install", "--yes")
    assert f"$ claude mcp add -s user prong -- {PRONG} mcp\n~/.claude.json:\n" in said
    assert f"$ codex mcp add prong -- {PRONG} mcp\n~/.codex/config.toml:\n" in said
    assert f'+      "command": "{PRONG}",' in said
    assert "+[mcp_servers.prong]" in said
    assert "claude: installed (user)" in said
    assert "codex: installed (user)" in said
    assert lab.user() == {
        "prong": {"type": "stdio", "command": PRONG, "args": ["mcp"], "env": {}},
    }
    assert (lab.codex()["prong"]["command"], lab.codex()["prong"]["args"]) == (PRONG, ["mcp"])
    assert lab.config.read_text().startswith(CONFIG.partition("\n\n")[0])
    assert lab.ok("install", "--yes") == "claude: already installed\ncodex: already installed\n"
    removed = lab.ok("remove", "--yes")
    assert "$ claude mcp remove -s user prong" in removed
    assert "$ codex mcp remove prong" in removed
    assert (lab.user(), lab.codex()) == ({}, {})
    assert lab.config.read_text() == CONFIG
    assert lab.ok("remove", "--yes") == "claude: not installed\ncodex: not installed\n"


def test_nothing_is_changed_by_a_dry_run(lab: Lab) -> None:
    found = json.loads(lab.ok("install", "--dry-run", "--json"))["mcp"]
    assert [(one["agent"], one["change"], one["changed"]) for one in found] == [
        ("claude", "create", False),
        ("codex", "create", False),
    ]
    assert found[0]["commands"] == [
        ["claude", "mcp", "add", "-s", "user", "prong", "--", PRONG, "mcp"]
    ]
    assert found[0]["path"] == str(lab.home.root / ".claude.json")
    assert not (lab.home.root / ".claude.json").exists()
    assert not lab.config.exists()


def test_it_is_asked_for(lab: Lab) -> None:
    problem = lab.fails(2, "install", "--agent", "codex")
    assert (problem["code"], problem["hint"]) == ("usage", "--yes, or --dry-run to see it")
    assert lab.answer(b"n", "install", "--agent", "codex") == 130
    assert not lab.config.exists()
    assert lab.answer(b"y", "install", "--agent", "codex") == 0
    assert lab.codex()["prong"]["command"] == PRONG


def test_codex_hands_on_what_is_named_and_no_value_is_written(lab: Lab) -> None:
    lab.config.write_text('[model_providers.own]\nname = "Own"\nenv_key = "OWN_KEY"\n')
    lab.ok("install", "-a", "codex", "--yes", "--env", "EXTRA", "--env", "A=b=c", OWN_KEY="sk-1")
    entry = lab.codex()["prong"]
    for name in ("CODEX_HOME", "XDG_STATE_HOME", "TMUX", "PRONG_TMUX_SOCKET", "OWN_KEY", "EXTRA"):
        assert name in entry["env_vars"]
    assert entry["env"] == {"A": "b=c"}
    assert "sk-1" not in lab.config.read_text()


def test_values_of_variables_are_not_shown(lab: Lab) -> None:
    said = lab.ok("install", "--yes", "--env", "TOKEN=sk-secret")
    assert lab.user()["prong"]["env"] == lab.codex()["prong"]["env"] == {"TOKEN": "sk-secret"}
    again = lab.ok("install", "--yes", "--read-only")
    removed = lab.ok("remove", "--yes", "--json")
    assert "sk-secret" not in said + again + removed
    assert "TOKEN=..." in said


def test_what_a_person_set_stays_when_prong_moved(lab: Lab) -> None:
    mine = {"command": "/opt/old/prong", "args": ["mcp"], "env": {"A": "b"}, "timeout": 7000}
    (lab.home.root / ".claude.json").write_text(json.dumps({"mcpServers": {"prong": mine}}))
    lab.config.write_text(
        '[mcp_servers.prong]\ncommand = "/opt/old/prong" # old\nargs = ["mcp"]\n'
        'startup_timeout_sec = 30\nenv_vars = ["MINE"]\n\n'
        '[mcp_servers.prong.tools.smart_fork]\napproval_mode = "approve"\n'
    )
    found = json.loads(lab.ok("install", "--yes", "--json"))["mcp"]
    assert [(one["change"], one["changed"]) for one in found] == [("change", True)] * 2
    assert lab.user()["prong"] == {**mine, "command": PRONG}
    entry = lab.codex()["prong"]
    assert (entry["command"], entry["startup_timeout_sec"]) == (PRONG, 30)
    assert entry["tools"] == {"smart_fork": {"approval_mode": "approve"}}
    assert entry["env_vars"][0] == "MINE"
    assert "TMUX" in entry["env_vars"]


def test_the_server_of_somebody_else_stays(lab: Lab) -> None:
    theirs = {"type": "http", "url": "http://127.0.0.1:9/mcp"}
    (lab.home.root / ".claude.json").write_text(json.dumps({"mcpServers": {"prong": theirs}}))
    lab.config.write_text('[mcp_servers.prong]\ncommand = "/opt/fork-lift"\n')
    for agent in ("claude", "codex"):
        problem = lab.fails(2, "install", "--agent", agent, "--yes")
        assert problem["code"] == "taken"
        assert "--name" in problem["hint"]
        assert lab.fails(3, "remove", "--agent", agent, "--yes")["code"] == "not_found"
    assert lab.user() == {"prong": theirs}
    assert lab.codex() == {"prong": {"command": "/opt/fork-lift"}}
    lab.ok("install", "--yes", "--name", "past")
    assert lab.user()["past"]["command"] == lab.codex()["past"]["command"] == PRONG
    lab.ok("remove", "--yes", "--name", "past")
    assert list(lab.user()) == list(lab.codex()) == ["prong"]


def test_scopes_of_claude(lab: Lab) -> None:
    inside = lab.project / "src"
    inside.mkdir()
    lab.ok("install", "--agent", "claude", "--scope", "local", "--yes", cwd=inside)
    assert lab.local()["prong"]["command"] == PRONG
    said = lab.run("install", "--agent", "claude", "--scope", "project", "--yes")
    shared = json.loads((lab.project / ".mcp.json").read_text())
    # A file for everybody names no folder of this machine.
    assert shared["mcpServers"]["prong"]["command"] == "prong"
    assert "everyone who gets this file needs `prong` on PATH" in said[2]
    assert "counts (for this repository, and for you alone)" in said[2]
    lab.ok("remove", "--agent", "claude", "--scope", "local", "--yes")
    assert lab.local() == {}
    lab.ok("remove", "--agent", "claude", "--yes")
    assert json.loads((lab.project / ".mcp.json").read_text())["mcpServers"] == {}
    assert lab.fails(6, "install", "--agent", "codex", "--scope", "local", "--yes")["hint"] == (
        "--scope user"
    )


@pytest.mark.parametrize(
    "word", ["--name=a b", "--name=-x", "--name=", "--env=1=2", "--env=A B", "--env="]
)
def test_words_that_make_no_sense(lab: Lab, word: str) -> None:
    assert lab.fails(2, "install", "--yes", word)["code"] == "usage"
    assert not (lab.home.root / ".claude.json").exists()


def test_broken_settings_are_left_alone_and_stop_no_other_agent(lab: Lab) -> None:
    broken = lab.home.root / ".claude.json"
    broken.write_text("{oops")
    status, said, complaint = lab.run("install", "--yes")
    assert status == 2
    assert "codex: installed (user)" in said
    assert "is not JSON" in complaint
    assert broken.read_text() == "{oops"
    lab.config.write_text("x = [")
    assert lab.fails(2, "install", "--agent", "codex", "--yes")["code"] == "config"
    assert lab.config.read_text() == "x = ["


def test_an_agent_that_is_not_installed(lab: Lab) -> None:
    path = os.pathsep.join(lab.path.split(os.pathsep)[1:])
    status, said, complaint = lab.run("install", "--yes", PATH=path)
    assert (status, "codex: installed (user)" in said) == (0, True)
    assert "claude is not on PATH" in complaint
    assert lab.fails(5, "install", "--agent", "claude", PATH=path)["code"] == "unavailable"
    assert lab.run("install", "--yes", PATH="/usr/bin:/bin")[0] == 5


def test_an_agent_that_refuses(lab: Lab, tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho 'not by policy' >&2\nexit 3\n")
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{lab.path}"
    problem = lab.fails(8, "install", "--agent", "claude", "--yes", PATH=path)
    assert (problem["message"], problem["details"]["status"]) == (
        "claude mcp add: not by policy",
        3,
    )
    program.write_text("#!/bin/sh\nexit 0\n")
    problem = lab.fails(8, "install", "--agent", "claude", "--yes", PATH=path)
    assert problem["hint"] == "claude mcp get prong"


def test_doctor_tells_how_it_stands(lab: Lab) -> None:
    def told(agent: str) -> tuple[str, str]:
        done = lab.shell.process("doctor", "--json", cwd=lab.project, env=lab.env)
        some = json.loads(done.stdout)["findings"]
        [one] = [one for one in some if one["topic"] == agent and "MCP server" in one["message"]]
        return one["level"], one["message"]

    assert told("claude")[0] == told("codex")[0] == "note"
    lab.ok("install", "--yes")
    assert told("claude") == told("codex") == ("ok", "the MCP server is registered (user)")
    lab.config.write_text(f'[mcp_servers.prong]\ncommand = "{PRONG}"\nargs = ["mcp"]\n')
    assert told("codex")[0] == "warning"
    lab.ok("remove", "--yes")
    settings = lab.home.claude / "settings.json"
    settings.write_text(json.dumps({"enabledPlugins": {"prong@prong": True}}))
    assert told("claude") == ("ok", "the MCP server is registered (by the plug-in prong@prong)")
    status, _, complaint = lab.run("install", "--agent", "claude", "--dry-run")
    assert (status, "one of the two is enough" in complaint) == (0, True)


def test_configuration_folders_of_another_name(lab: Lab, tmp_path: Path) -> None:
    claude, codex = tmp_path / "work claude", tmp_path / "work codex"
    claude.mkdir()
    codex.mkdir()
    lab.env |= {"CLAUDE_CONFIG_DIR": str(claude), "CODEX_HOME": str(codex)}
    lab.ok("install", "--yes")
    assert "prong" in json.loads((claude / ".claude.json").read_text())["mcpServers"]
    assert "prong" in tomllib.loads((codex / "config.toml").read_text())["mcp_servers"]
    assert not (lab.home.root / ".claude.json").exists()
    assert not lab.config.exists()
    assert "already installed" in lab.ok("install", "--yes")
    lab.ok("remove", "--yes")
    assert json.loads((claude / ".claude.json").read_text())["mcpServers"] == {}


def test_the_guide_shows_what_the_commands_print(lab: Lab) -> None:
    page = (Path(__file__).parents[3] / "docs" / "guides" / "mcp.md").read_text(encoding="utf-8")
    some = re.findall(r"^```\n\$ prong mcp (.*)\n((?:.*\n)*?)```$", page, flags=re.MULTILINE)
    assert len(some) == 3
    for words, shown in some:
        status, said, complaint = lab.run(*words.split())
        assert status == 0, complaint
        lines = shown.splitlines()
        notes = [line for line in lines if line.startswith("note: ")]
        said = said.replace(PRONG, "/home/ada/.local/bin/prong")
        assert said.splitlines() == [line for line in lines if line not in notes]
        assert complaint.splitlines() == notes
