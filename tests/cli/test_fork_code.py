"""`prong fork` with the code of the turn."""

import os
import subprocess
from pathlib import Path

import pytest

from prong import spool
from prong.model import TurnKey
from prong.vcs import snapshots
from tests.cli.shell import API, Shell

LONG_AGO = os.environ | {"GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
"""The commit is older than the sample sessions."""


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=ada", "-c", "user.email=ada@localhost")
    argv = ["git", *identity, *words]
    done = subprocess.run(argv, cwd=folder, env=LONG_AGO, capture_output=True, check=True)
    return done.stdout.decode()


@pytest.fixture
def code(shop: Shell) -> Path:
    """A repository with a commit, and a snapshot of the second turn of the sample session."""
    folder = shop.home.projects / "shop"
    git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / "limits.py").write_text("LIMIT = 60\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "one")
    (folder / "limits.py").write_text("LIMIT = 60\nREDIS = True\n")
    (folder / "new.py").write_text("new\n")
    second = shop.json("turns", API)["turns"][1]["id"]
    taken = snapshots.take(folder, TurnKey("claude", API, second))
    assert taken
    spool.append({"snapshot": {"repo": str(taken.repo), "ref": taken.ref}})
    (folder / "limits.py").write_text("LIMIT = 99\n")
    (folder / "new.py").unlink()
    return folder


def test_the_code_of_the_turn(shop: Shell, code: Path) -> None:
    before = git(code, "status", "--porcelain=v2", "--branch")
    made = shop.json("fork", f"{API}@2")["fork"]
    workspace = Path(made["workspace"])
    assert (workspace / "limits.py").read_text() == "LIMIT = 60\nREDIS = True\n"
    assert git(workspace, "status", "--porcelain") == " M limits.py\n?? new.py\n"
    assert made["code"] == "turn"
    assert git(workspace, "branch", "--show-current").strip() == made["branch"]
    assert made["cwd"] == str(workspace)
    assert [turn["index"] for turn in shop.json("turns", made["child"])["turns"]] == [1, 2]
    assert git(code, "status", "--porcelain=v2", "--branch") == before


def test_the_last_turn_gets_the_code_as_it_is_now(shop: Shell, code: Path) -> None:
    made = shop.json("fork", API)["fork"]
    assert made["code"] == "now"
    assert (Path(made["workspace"]) / "limits.py").read_text() == "LIMIT = 99\n"


def test_another_turn_gets_the_nearest_commit_and_says_so(shop: Shell, code: Path) -> None:
    plan = shop.json("fork", f"{API}@3", "--dry-run")["plan"]
    assert any("nearest commit, not exact" in warning for warning in plan["warnings"])


def test_head_names_what_is_not_committed(shop: Shell, code: Path) -> None:
    made = shop.json("fork", API, "--code", "head", "--branch", "try")["fork"]
    assert any("limits.py" in warning for warning in made["warnings"])
    assert (Path(made["workspace"]) / "limits.py").read_text() == "LIMIT = 60\n"
    assert made["branch"] == "try"


@pytest.mark.parametrize("words", [["--no-worktree"], ["--code", "none"]])
def test_in_place(shop: Shell, code: Path, words: list[str]) -> None:
    made = shop.json("fork", f"{API}@2", *words)["fork"]
    assert (made["workspace"], made["code"]) == (str(code), "none")
    assert git(code, "worktree", "list").count("\n") == 1


def test_the_code_of_another_turn(shop: Shell, code: Path) -> None:
    made = shop.json("fork", f"{API}@1", "--code-at", "2")["fork"]
    assert (Path(made["workspace"]) / "new.py").read_text() == "new\n"


def test_nothing_is_left_of_a_fork_that_fails(shop: Shell, code: Path) -> None:
    shop.problem(2, "fork", f"{API}@2", "--id", API)
    assert git(code, "worktree", "list").count("\n") == 1
    assert "prong/" not in git(code, "branch", "--list")


def test_a_folder_and_code_do_not_go_together(shop: Shell, code: Path) -> None:
    problem = shop.problem(2, "fork", f"{API}@2", "--into", str(code), "--code", "turn")
    assert problem["hint"] == "leave --into out"
