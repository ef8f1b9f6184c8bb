"""The code of turns whose folder is not there any more: removed worktrees, moved repositories."""

import json
import shutil
from pathlib import Path

import pytest

from prong.code.snapshots import snapshot
from prong.hook import spool
from prong.model.code import TurnKey
from tests.cli.code_lab import git
from tests.cli.shell import NOW, Shell
from tests.samples.claude import ClaudeSample

TEXTS = ("one\n", "two\n")


class Story:
    """A session of two turns below the top of a working tree; hooks kept the code of both."""

    def __init__(self, shell: Shell, top: Path) -> None:
        self.shell = shell
        self.top = top
        self.sample = shell.session(1, cwd=str(top / "api"), age=0.5)
        (top / "api").mkdir(exist_ok=True)
        self.write("zero\n", TurnKey.BASELINE)
        for text in TEXTS:
            self.sample.prompt(f"write {text.strip()}")
            turn = self.sample.leaf
            self.sample.answer("Done.")
            assert turn
            self.write(text, turn)
        self.sample.write(shell.home.claude)

    def write(self, text: str, turn: str) -> None:
        (self.top / "api/code.py").write_text(text)
        taken = snapshot.take(self.top / "api", TurnKey("claude", self.sample.id, turn))
        assert taken
        told = {"repo": str(taken.repo), "ref": taken.ref}
        spool.append({"agent": "claude", "session": self.sample.id, "snapshot": told})

    def is_found(self, *, deep: bool = True) -> None:
        """Every command has the code; `deep`: a fork runs as deep as the session did."""
        shell, id_ = self.shell, self.sample.id
        made = [shell.json("fork", f"{id_}@{number}")["fork"] for number in (1, 2)]
        assert [one["code"] for one in made] == ["turn", "turn"]
        if deep:
            assert [Path(one["workspace"]).name for one in made] == ["api", "api"]
        tops = [Path(one["workspace"]) for one in made]
        tops = [top.parent if deep else top for top in tops]
        assert [(top / "api/code.py").read_text() for top in tops] == list(TEXTS)
        assert shell.json("fork", id_)["fork"]["code"] == "turn"
        turns = shell.json("turns", id_)["turns"]
        assert [turn["diffstat"]["added"] for turn in turns] == [1, 1]
        assert b"+two" in shell.ok("diff", f"{id_}@2").encode()
        assert "write two" in shell.ok("show", id_)


@pytest.fixture
def main(shop: Shell) -> Path:
    top = shop.home.projects / "main"
    top.mkdir()
    git(top, "init", "--quiet", "--initial-branch", "main")
    (top / "README.md").write_text("# Main\n")
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message", "one")
    return top


@pytest.fixture(params=["told", "untold"])
def told(request: pytest.FixtureRequest) -> bool:
    """Whether the hooks' lines are still there: state may be lost."""
    return request.param == "told"


def forget(told: bool) -> None:
    if not told:
        shutil.rmtree(spool.folder())


def test_a_worktree_that_was_removed(shop: Shell, main: Path, told: bool) -> None:
    worktree = main.with_name("second")
    git(main, "worktree", "add", "--quiet", str(worktree))
    story = Story(shop, worktree)
    git(main, "worktree", "remove", "--force", str(worktree))
    forget(told)
    story.is_found(deep=told)


def test_a_worktree_of_a_bare_repository(shop: Shell, main: Path, told: bool) -> None:
    bare = main.with_name("main.git")
    git(main, "clone", "--quiet", "--bare", str(main), str(bare))
    for name in ("second", "third"):
        git(bare, "worktree", "add", "--quiet", "-b", name, str(main.with_name(name)))
    shutil.rmtree(main)
    story = Story(shop, bare.with_name("second"))
    git(bare, "worktree", "remove", "--force", str(story.top))
    forget(told)
    story.is_found(deep=told)


def test_a_repository_that_was_renamed(shop: Shell, main: Path, told: bool) -> None:
    story = Story(shop, main)
    main.rename(main.with_name("renamed"))
    forget(told)
    story.is_found(deep=told)


def test_a_repository_that_went_into_the_attic(shop: Shell, main: Path, told: bool) -> None:
    story = Story(shop, main)
    attic = main.with_name("attic")
    attic.mkdir()
    main.rename(attic / "main")
    forget(told)
    story.is_found(deep=told)


def test_the_repository_of_a_worktree_was_renamed(shop: Shell, main: Path, told: bool) -> None:
    """The worktree is there, but git does not know any more of what."""
    worktree = shop.home.root / "elsewhere/second"
    git(main, "worktree", "add", "--quiet", str(worktree))
    story = Story(shop, worktree)
    main.rename(main.with_name("renamed"))
    forget(told)
    story.is_found()


def test_a_repository_that_is_found_from_where_the_person_is(
    shop: Shell, main: Path, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story(shop, main)
    away = shop.home.root / "far/away/from/here"
    away.parent.mkdir(parents=True)
    main.rename(away)
    forget(told)
    problem = shop.problem(3, "fork", f"{story.sample.id}@1", "--dry-run")
    assert f"the folder of claude:{story.sample.id} no longer exists" in problem["message"]
    assert "looked in" in problem["message"] or "no repository" in problem["message"]
    assert "cd into it" in problem["hint"]
    monkeypatch.chdir(away / "api")
    story.is_found(deep=False)


def test_a_repository_that_another_session_ran_in(shop: Shell, main: Path, told: bool) -> None:
    story = Story(shop, main)
    away = shop.home.root / "far/away/from/here"
    away.parent.mkdir(parents=True)
    main.rename(away)
    shop.simple(2, cwd=str(away))
    forget(told)
    story.is_found(deep=told)


def test_another_repository_took_its_place(
    shop: Shell, main: Path, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story(shop, main)
    main.rename(main.with_name("renamed"))
    (main / "api").mkdir(parents=True)
    git(main, "init", "--quiet")
    forget(told)
    monkeypatch.chdir(main.with_name("renamed"))
    story.is_found()


def test_a_worktree_of_ours_that_was_pruned(shop: Shell, main: Path, told: bool) -> None:
    """The fork's own turns are found in the repository that it was forked in."""
    first = Story(shop, main)
    fork = shop.json("fork", first.sample.id)["fork"]
    workspace = Path(fork["workspace"])
    lines = [json.loads(line) for line in Path(fork["path"]).read_bytes().splitlines()]
    turn = ClaudeSample(fork["child"].removeprefix("claude:"), str(workspace), NOW)
    turn.leaf = next(line["uuid"] for line in reversed(lines) if "uuid" in line)
    turn.prompt("write three")
    id_ = turn.leaf
    turn.answer("Done.")
    with Path(fork["path"]).open("a") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in turn.lines)
    (workspace / "code.py").write_text("three\n")
    assert id_
    taken = snapshot.take(workspace, TurnKey("claude", turn.id, id_))
    assert taken
    kept = {"repo": str(taken.repo), "ref": taken.ref}
    spool.append({"agent": "claude", "session": turn.id, "snapshot": kept})
    shop.ok("worktrees", "prune", workspace.parent.name, "--yes", "--force")
    assert not workspace.exists()
    if not told:
        shutil.rmtree(shop.home.root / ".local/state/prong")
    made = shop.json("fork", fork["child"])["fork"]
    assert made["code"] == "turn"
    [code] = Path(made["workspace"]).rglob("code.py")
    assert code.read_text() == "three\n"
    early = shop.json("fork", f"{fork['child']}@1")["fork"]
    [code] = Path(early["workspace"]).rglob("code.py")
    assert (early["code"], code.read_text()) == ("turn", "one\n")
    assert "+three" in shop.ok("diff", f"{fork['child']}@3")


def test_it_is_nowhere(shop: Shell, main: Path) -> None:
    """What was looked at is said, and what to type."""
    story = Story(shop, main)
    shutil.rmtree(main)
    other = main.with_name("other")
    other.mkdir()
    git(other, "init", "--quiet")
    for words in (["--dry-run"], ["--yes"], ["--code", "turn"]):
        problem = shop.problem(3, "fork", f"{story.sample.id}@1", *words)
        assert str(other) in problem["message"]
        assert "--into DIR" in problem["hint"]
    into = shop.json("fork", f"{story.sample.id}@1", "--into", str(other))["fork"]
    assert into["code"] == "none"
