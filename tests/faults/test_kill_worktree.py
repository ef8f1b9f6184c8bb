"""A fork with a worktree that is killed anywhere: both are there afterwards, or neither."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from prong.app import App
from prong.code.worktrees.journal import leftovers
from prong.forks.request import ForkRequest
from prong.model.forks import Code, ForkPlan
from tests.faults.children import Children
from tests.faults.story import ID, NEW, Story

_STEPS = ("prong.step", "os.rename", "os.link", "os.mkdir", "os.remove", "subprocess.Popen")


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=ada", "-c", "user.email=ada@localhost")
    argv = ["git", *identity, *words]
    return subprocess.run(argv, cwd=folder, capture_output=True, check=True).stdout.decode()


class Bench:
    """The session of the story, in a repository with work that is not committed."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.code = story.shell.home.projects / "shop"
        self.root = story.shell.home.root / ".local/share/prong/worktrees"
        git(self.code, "init", "--quiet", "--initial-branch=main")
        (self.code / "a").write_text("a\n")
        git(self.code, "add", "--all")
        git(self.code, "commit", "--quiet", "--message=one")
        (self.code / "a").write_text("edited\n")
        (self.code / "b").write_text("new\n")

    def plan(self, code: Code) -> ForkPlan:
        with App() as app:
            return app.forks.plan(f"{ID}@3", ForkRequest(id=NEW, code=code, branch="try"))

    def sessions(self) -> list[Path]:
        return list(self.story.shell.home.claude.glob(f"projects/*/{NEW}.jsonl"))

    def refs(self) -> str:
        return git(self.code, "for-each-ref", "--format=%(refname) %(objectname)")

    def known(self) -> str:
        """What the repository knows of branches, snapshots and worktrees, and how its files are."""
        worktrees = git(self.code, "worktree", "list", "--porcelain")
        return self.refs() + worktrees + git(self.code, "status", "--porcelain=v2", "--branch")

    def left(self) -> list[str]:
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*"))

    def undo(self) -> None:
        """Take a whole fork away."""
        for path in self.sessions():
            shutil.rmtree(path.parent)
        with App() as app:
            for one in app.code.worktrees.list():
                app.code.worktrees.prune(one, force=True)
        for line in self.refs().splitlines():
            if line.startswith("refs/prong/"):
                git(self.code, "update-ref", "-d", line.split()[0])


def killed_at(number: int, act: Callable[[], object]) -> bool:
    """Run it in a child that kills itself at the step of this number; False when it has fewer."""
    pid = os.fork()
    if pid == 0:
        left = number

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal left
            if event in _STEPS:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        status = 1
        try:
            sys.addaudithook(hook)
            act()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


@pytest.fixture
def bench(story: Story) -> Bench:
    return Bench(story)


@pytest.mark.parametrize("code", [Code.NOW, Code.HEAD])
def test_killed_at_every_step(bench: Bench, code: Code) -> None:
    before = bench.known()
    plan = bench.plan(code)
    assert plan.worktree
    assert bench.known() == before
    assert not bench.root.exists()

    def make() -> None:
        with App() as app:
            app.forks.make(plan)

    neither = both = 0
    for number in count(1):
        was_killed = killed_at(number, make)
        with App() as app:
            list(app.setup.fix())
        assert leftovers(bench.root) == []
        if bench.sessions():
            both += 1
            assert (plan.worktree.path / "a").read_text() == (
                "edited\n" if code is Code.NOW else "a\n"
            )
            assert "branch refs/heads/try\n" in bench.known()
            with App() as app:
                (found,) = app.code.worktrees.list()
                assert str(found.session) == f"claude:{NEW}"
            bench.undo()
        else:
            neither += 1
        assert bench.left() in ([], [".prong"]), number
        assert bench.known() == before, number
        if not was_killed:
            break
    assert neither > 40
    assert both > 5


def test_the_next_fork_works_all_the_same(bench: Bench, nursery: Children) -> None:
    """Nobody typed `prong doctor --fix`; only the name of the branch is taken until then."""
    words = ["fork", f"{ID}@3", "--code", "now", "--json"]
    ended = nursery.run(*words, at="publish", signal=signal.SIGKILL)
    assert ended.signal == signal.SIGKILL
    assert len(leftovers(bench.root)) == 1
    assert nursery.run(*words).status == 0
    listed = bench.story.shell.json("worktrees")["worktrees"]
    assert sorted(one["state"] for one in listed) == ["new", "under way"]
    told = bench.story.told("--fix")
    assert sum(one.startswith("removed") for one in told) >= 2
    assert [one["state"] for one in bench.story.shell.json("worktrees")["worktrees"]] == ["new"]


@pytest.mark.parametrize("at", ["worktree", "files", "publish", "record"])
def test_a_living_one_is_left_alone(bench: Bench, nursery: Children, at: str) -> None:
    child = nursery.start("fork", f"{ID}@3", "--code", "now", "--json", at=at)
    assert child.is_stopped
    while child.is_stopped:
        left = bench.left()
        assert bench.story.told("--fix") == []
        shell = bench.story.shell
        assert shell.run("worktrees", "prune", "--yes", "--force").exit_code == 0
        assert bench.left() == left
        child.go_on()
    assert child.ended().status == 0


def test_interrupted_at_every_step(bench: Bench, nursery: Children) -> None:
    """Ctrl-C: nothing is left, without any cleaning; or it came too late, and all is there."""
    before = bench.known()
    words = ["fork", f"{ID}@3", "--code", "now", "--id", NEW, "--branch", "try", "--json"]
    nothing = late = 0
    for at in count(1, 4):
        ended = nursery.run(*words, at=at, signal=signal.SIGINT)
        assert ended.status in (0, 130)
        assert leftovers(bench.root) == []
        if bench.sessions():
            late += 1
            assert "branch refs/heads/try\n" in bench.known()
            bench.undo()
        else:
            nothing += 1
            assert bench.left() in ([], [".prong"]), at
        assert bench.known() == before, at
        if ended.status == 0:
            break
    assert nothing > 10
    assert late
