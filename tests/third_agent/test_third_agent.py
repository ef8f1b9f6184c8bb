"""Everything works for an agent of a plug-in, without a change in prong."""

import json
import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from prong.agents.base import AgentStore
from prong.testing.contract import AgentStoreContract
from prong.testing.fork_contract import ForkContract
from prong.testing.home import IsolatedHome
from tests.cli.code_lab import git
from tests.cli.shell import Shell
from tests.packages import install
from tests.third_agent import program
from tests.third_agent.store import NotesStore

HERE = "tests.third_agent"
ROOT = Path(__file__).parents[2]
ID = "60309e1e-8f4b-4b8e-9c55-1f0d2c7a9b01"


@pytest.fixture
def shell(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A home with the plug-in, its program, and a repository as the current folder."""
    monkeypatch.delenv("PRONG_PLUGINS", raising=False)
    install(monkeypatch, ("notes", f"{HERE}.store:NotesStore"))
    packages = isolated_home.root / "packages"
    with (packages / "others-1.0.dist-info" / "entry_points.txt").open("a") as file:
        file.write(f"[prong.last_turn]\nnotes = {HERE}.last_turn:NotesLastTurn\n")
    monkeypatch.setenv("PYTHONPATH", f"{packages}{os.pathsep}{ROOT}")
    binary = isolated_home.root / "bin" / "notes"
    binary.parent.mkdir()
    binary.write_text(f'#!/bin/sh\nexec {sys.executable} {program.__file__} "$@"\n')
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", f"{binary.parent}{os.pathsep}{os.environ['PATH']}")
    (isolated_home.root / ".notes").mkdir()
    project = isolated_home.projects / "shop"
    project.mkdir(parents=True)
    git(project, "init", "--quiet", "--initial-branch", "main")
    git(project, "commit", "--quiet", "--allow-empty", "--message", "begin")
    monkeypatch.chdir(project)
    return Shell(isolated_home)


def turns(*prompts: str, id_: str = ID) -> None:
    """Let the agent work."""
    for prompt in prompts:
        subprocess.run(["notes", "--session", id_, prompt], check=True, capture_output=True)


def test_its_sessions_are_listed_found_and_shown(shell: Shell) -> None:
    turns("buy tea", "paint the hippogriff")
    assert [one["id"] for one in shell.json("list", "--agent", "notes")["sessions"]] == [ID]
    [hit] = shell.json("find", "hippogriff", "--fast")["hits"]
    assert (hit["session"], hit["turn"]) == (f"notes:{ID}", 2)
    assert "noted: buy tea" in shell.ok("show", f"notes:{ID}@1")


def test_the_hook_captures_its_code_and_a_fork_gets_it(shell: Shell) -> None:
    assert "notes" in shell.ok("hooks", "install", "--agent", "notes", "--yes")
    turns("buy tea", "buy milk")
    assert [one["snapshot"] is not None for one in shell.json("turns", ID)["turns"]] == [True, True]
    fork = shell.json("fork", f"notes:{ID}@1", "--no-open")["fork"]
    folder = Path(fork["workspace"])
    assert (folder / "note.txt").read_text() == "buy tea"
    assert shell.json("turns", fork["child"])["turns"][-1]["prompt"] == "buy tea"
    command = shell.json("resume", fork["child"])["command"]
    assert command == ["notes", "--session", fork["child"].partition(":")[2]] == fork["command"]
    shell.ok("hooks", "remove", "--agent", "notes", "--yes")
    assert not (shell.home.root / ".notes" / "hook.json").exists()


def test_sessions_of_other_agents_become_its_own(shell: Shell) -> None:
    id_ = shell.simple(1, "Sort the shelves", cwd=str(Path.cwd()))
    fork = shell.json("fork", id_, "--agent", "notes", "--no-open")["fork"]
    assert "Sort the shelves" in shell.ok("show", fork["child"])


def test_it_runs_as_a_worker(shell: Shell) -> None:
    options = ("--agent", "notes", "--headless", "--no-worktree", "--name", "writer")
    shell.ok("run", *options, "buy tea", "--yes")
    shell.ok("wait", "writer")
    assert shell.ok("send", "writer", "buy milk", "--wait") == "noted: buy milk\n"
    assert shell.json("status", "writer")["turn"] == 2


def test_it_gets_the_mcp_server(shell: Shell) -> None:
    shell.ok("mcp", "install", "--agent", "notes", "--yes")
    servers = json.loads((shell.home.root / ".notes" / "mcp.json").read_bytes())
    assert servers["prong"][-1] == "mcp"
    assert "the MCP server is registered" in shell.ok("doctor")
    shell.ok("mcp", "remove", "--agent", "notes", "--yes")
    assert json.loads((shell.home.root / ".notes" / "mcp.json").read_bytes()) == {}


def test_what_it_cannot_do_is_said(shell: Shell) -> None:
    turns("buy tea")
    said = shell.fails(6, "fork", f"notes:{ID}", "--method", "seed", "--no-open")
    assert "sessions of notes cannot be seeded" in said


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentStore:
    root = tmp_path / "notes"
    root.mkdir()
    monkeypatch.setattr(program, "ROOT", root)
    monkeypatch.chdir(tmp_path)
    for prompts in (("buy tea", "buy milk"), ("write home",)):
        id_ = str(uuid4())
        for prompt in prompts:
            program.take_turn(id_, prompt)
    return NotesStore([root])


class TestStore(AgentStoreContract):
    @pytest.fixture
    def store(self, store: AgentStore) -> AgentStore:  # the one above
        return store


class TestForks(ForkContract):
    @pytest.fixture
    def store(self, store: AgentStore) -> AgentStore:
        return store
