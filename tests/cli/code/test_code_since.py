"""`prong fork` at the last turn of an old session, of which no code was kept."""

import os
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from prong.code.snapshots import snapshot
from prong.model.code import TurnKey
from tests.cli.code_lab import git
from tests.cli.shell import Shell, prong
from tests.drivers.tmux import Tmux

OLD = timedelta(days=3, hours=1)


class Repository:
    def __init__(self, top: Path) -> None:
        self.top = top
        top.mkdir()
        git(top, "init", "--quiet", "--initial-branch", "main")
        self.write("a.py", "a\n")
        self.write("b.py", "b\n")
        self.commit()

    def write(self, name: str, text: str) -> None:
        (self.top / name).write_text(text)

    def commit(self) -> None:
        git(self.top, "add", "--all")
        git(self.top, "commit", "--quiet", "--message", "one")


@pytest.fixture
def repository(shop: Shell) -> Repository:
    return Repository(shop.home.projects / "old")


def session(shop: Shell, repository: Repository, ago: timedelta = OLD) -> str:
    return shop.simple(1, cwd=str(repository.top), age=ago.total_seconds() / 3600)


def drift(shop: Shell, id_: str) -> list[str]:
    plan = shop.json("fork", id_, "--dry-run")["plan"]
    return [one for one in plan["warnings"] if "no code was captured at the turn" in one]


def changed(repository: Repository) -> None:
    """One commit of two files, and a file that is in none."""
    repository.write("a.py", "later\n")
    (repository.top / "b.py").unlink()
    git(repository.top, "add", "--all")
    commit_now(repository)
    repository.write("new.py", "new\n")


def commit_now(repository: Repository) -> None:
    who = {"GIT_COMMITTER_NAME": "ada", "GIT_COMMITTER_EMAIL": "ada@localhost"}
    who |= {"GIT_AUTHOR_NAME": "ada", "GIT_AUTHOR_EMAIL": "ada@localhost"}
    argv = ["git", "commit", "--quiet", "--allow-empty", "--message", "two"]
    subprocess.run(argv, cwd=repository.top, env=os.environ | who, check=True)


def test_the_plan_says_what_has_changed(shop: Shell, repository: Repository) -> None:
    id_ = session(shop, repository)
    changed(repository)
    assert drift(shop, id_) == [
        (
            "no code was captured at the turn, 3 days ago: 1 commit and 3 files have changed "
            "since; the fork gets the current code"
        )
    ]


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_it_is_not_taken_silently(shop: Shell, repository: Repository, words: list[str]) -> None:
    id_ = session(shop, repository)
    changed(repository)
    said = shop.fails(3, "fork", id_, *words)
    assert "1 commit and 3 files have changed since" in said
    assert "--code now" in said
    assert git(repository.top, "worktree", "list").count(b"\n") == 1


@pytest.mark.parametrize("words", [["--yes"], ["--code", "now"]])
def test_who_says_so_gets_it(shop: Shell, repository: Repository, words: list[str]) -> None:
    id_ = session(shop, repository)
    changed(repository)
    made = shop.json("fork", id_, *words)["fork"]
    assert made["code"] == "now"
    assert (Path(made["workspace"]) / "a.py").read_text() == "later\n"
    assert (Path(made["workspace"]) / "new.py").exists()


def test_on_a_terminal_it_is_asked(shop: Shell, repository: Repository) -> None:
    id_ = session(shop, repository)
    changed(repository)
    with Tmux(shop.home.root, (80, 24)) as tmux:
        script = '"$@"; echo status $?; read -r end'
        argv = ["sh", "-c", script, "sh", *prong("fork", f"{id_}@1", "--no-open")]
        tmux.start(argv, shop.home.root, shop.env())
        screen = tmux.wait_for("Fork? [Y/n]")
        assert "1 commit and 3 files have changed since" in " ".join(screen.split())
        tmux.send_text("n\n")
        tmux.wait_for("status 130")
    assert git(repository.top, "worktree", "list").count(b"\n") == 1


def test_a_commit_alone(shop: Shell, repository: Repository) -> None:
    id_ = session(shop, repository)
    commit_now(repository)
    assert "1 commit and 0 files have changed since" in drift(shop, id_)[0]


def test_nothing_has_changed(shop: Shell, repository: Repository) -> None:
    """What the turn itself left, committed by nobody, is no change since."""
    repository.write("c.py", "of the turn\n")
    id_ = session(shop, repository, -timedelta(hours=1))
    assert drift(shop, id_) == []
    assert shop.json("fork", id_)["fork"]["code"] == "now"


def test_nothing_was_committed_yet(shop: Shell) -> None:
    top = shop.home.projects / "new"
    top.mkdir()
    git(top, "init", "--quiet")
    id_ = shop.simple(1, cwd=str(top), age=72)
    assert drift(shop, id_) == []
    (top / "a.py").touch()
    assert "0 commits and 1 file have changed since" in drift(shop, id_)[0]


def test_the_code_of_the_turn_is_as_it_was(shop: Shell, repository: Repository) -> None:
    """Where it was kept there is nothing to ask."""
    sample = shop.session(1, cwd=str(repository.top), age=72)
    sample.prompt("Hello")
    turn = sample.leaf
    sample.answer("Done.")
    sample.write(shop.home.claude)
    assert turn
    assert snapshot.take(repository.top, TurnKey("claude", sample.id, turn))
    changed(repository)
    assert drift(shop, sample.id) == []
    assert shop.json("fork", sample.id)["fork"]["code"] == "turn"
