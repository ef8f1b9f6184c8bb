"""`prong resume`."""

import os
from pathlib import Path

import pytest

from prong import paths
from prong.agents.codex.store import CodexStore
from tests.cli import agents
from tests.cli.code_lab import CodeLab
from tests.cli.shell import API, PARSER, Shell


@pytest.fixture(autouse=True)
def _codex(shop: Shell) -> None:
    agents.install(shop.home.root / "bin", "codex", CodexStore().program.flags)


def test_the_command_for_a_session(shop: Shell) -> None:
    said = shop.json("resume", API)
    assert said["session"] == f"claude:{API}"
    assert said["command"] == ["claude", "--resume", API]
    assert said["cwd"] == str(shop.home.projects / "shop")
    assert shop.json("resume", PARSER)["command"][:2] == ["codex", "resume"]
    assert f"claude --resume {API}" in shop.ok("resume", API)


def test_with_a_prompt(shop: Shell) -> None:
    assert shop.json("resume", API, "--prompt", "go on then")["command"][-1] == "go on then"


def test_exec_becomes_the_agent_in_the_folder_of_the_session(shop: Shell) -> None:
    said = shop.process("resume", API, "--exec").stdout.decode().splitlines()
    assert said[0] == os.path.realpath(shop.home.projects / "shop")
    assert said[-2:] == ["<--resume>", f"<{API}>"]


def test_the_root_is_named_when_it_is_another(shop: Shell, tmp_path: Path) -> None:
    other = tmp_path / "laptop"
    sample = shop.session(7)
    sample.prompt("hello")
    sample.answer("hi")
    sample.write(other)
    config = paths.config_file()
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f'[agents.claude]\nroots = ["{other}"]\ncommand = "claude --model opus -c"\n')
    said = shop.json("resume", sample.id)
    assert said["env"] == {"CLAUDE_CONFIG_DIR": str(other)}
    assert said["command"][:3] == ["claude", "--model", "opus"]
    assert "-c" not in said["command"]


def test_the_folder_is_gone(shop: Shell) -> None:
    (shop.home.projects / "shop").rmdir()
    problem = shop.problem(3, "resume", API)
    assert problem["hint"] == f"prong fork claude:{API} --into DIR"


def test_the_worktree_of_a_fork_was_removed(shop: Shell) -> None:
    """Another fork brings its code back."""
    lab = CodeLab.make(shop)
    made = shop.json("fork", f"{API}@2")["fork"]
    worktree = Path(made["workspace"])
    shop.ok("worktrees", "prune", worktree.name, "--yes", "--force")
    assert not worktree.exists()
    problem = shop.problem(3, "resume", made["child"])
    assert problem["hint"] == f"prong fork {made['child']} brings its code back"
    shop.json("fork", made["child"])
    assert lab.folder.is_dir()


def test_a_turn_is_for_forks(shop: Shell) -> None:
    problem = shop.problem(2, "resume", f"{API}@2")
    assert problem["hint"] == f"prong fork {API}@2"


def test_no_program(shop: Shell) -> None:
    (shop.home.root / "bin" / "claude").unlink()
    assert shop.problem(5, "resume", API)["code"] == "unavailable"


def test_the_prompt_of_a_pipe_and_an_empty_one(shop: Shell) -> None:
    assert "the prompt is empty" in shop.fails(2, "resume", API, "--prompt", " ")
    result = shop.run("resume", API, "--prompt", "-", "--json")
    assert result.exit_code == 2


def test_an_archived_session(shop: Shell) -> None:
    path = next(shop.home.codex.rglob(f"*{PARSER}.jsonl"))
    archive = shop.home.codex / "archived_sessions"
    archive.mkdir()
    path.rename(archive / path.name)
    problem = shop.problem(6, "resume", PARSER)
    assert f"prong fork codex:{PARSER}" in problem["hint"]
