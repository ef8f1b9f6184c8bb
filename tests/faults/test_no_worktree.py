"""Where no worktree can be made, the next thing to type is the fork without one."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from prong.errors import External
from prong.mcp.answers import problem_of
from tests.cli.code_lab import git
from tests.cli.shell import prong
from tests.faults.children import Ended
from tests.faults.story import ID, Story
from tests.faults.test_disk import _FROZEN, run

_FULL = """
set -e
mount -t tmpfs -o size=64k none "$1"
shift
exec "$@"
"""
POINT = f"{ID}@2"
CODES = ("now", "head", "turn")


@pytest.fixture
def code(story: Story) -> Path:
    """The session ran in a repository whose files do not fit on a small disk."""
    folder = story.shell.home.projects / "shop"
    git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / "large").write_bytes(b"large\n" * 50_000)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "one")
    (folder / "new").write_text("new\n")
    return folder


def words(code: str) -> list[str]:
    return prong("fork", POINT, "--code", code, "--yes", "--json")


def offers_none(ended: Ended) -> dict[str, Any]:
    assert ended.status == 8, ended.stderr
    assert "--code none" in ended.problem["hint"]
    return ended.problem


@pytest.mark.parametrize("which", CODES)
@pytest.mark.parametrize("kind", ["read-only", "full"])
def test_the_disk_of_the_worktrees(story: Story, code: Path, which: str, kind: str) -> None:
    root = story.shell.home.root / ".local/share/prong/worktrees"
    root.mkdir(parents=True)
    script = _FROZEN if kind == "read-only" else _FULL
    refs = git(code, "for-each-ref")
    argv = ["unshare", "-rm", "sh", "-c", script, "sh", str(root), *words(which)]
    offers_none(run(story, *argv))
    assert git(code, "for-each-ref") == refs
    assert git(code, "worktree", "list").count(b"\n") == 1
    assert not story.fork.exists()


@pytest.mark.parametrize("which", CODES)
def test_a_repository_that_cannot_be_written_to(story: Story, code: Path, which: str) -> None:
    argv = ["unshare", "-rm", "sh", "-c", _FROZEN, "sh", str(code), *words(which)]
    offers_none(run(story, *argv))
    assert git(code, "worktree", "list").count(b"\n") == 1


@pytest.mark.parametrize("which", ["now", "head"])
def test_a_broken_index(story: Story, code: Path, which: str) -> None:
    (code / ".git/index").write_bytes(b"no index\n" * 9)
    offers_none(run(story, *words(which)))
    done = subprocess.run(
        prong("fork", POINT, "--code", "none", "--json"),
        env=story.shell.env(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_an_agent_is_offered_its_argument() -> None:
    error = External("cannot create the worktree", hint="--code none runs it as it is")
    found = problem_of(error, "fork_session").structured_content
    assert found is not None
    assert found["hint"] == 'code: "none" runs it as it is'
