"""`prong fork` with the code of the turn."""

import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from prong.app import App
from prong.code.snapshots import snapshot
from prong.hook import spool
from prong.model.code import TurnKey
from prong.model.forks import Fork, ForkPlan
from tests.cli.shell import API, NOW, PARSER, Shell
from tests.samples.claude import ClaudeSample
from tests.samples.codex import CodexSample

LONG_AGO = {"GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
"""The commit is older than the sample sessions."""


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=ada", "-c", "user.email=ada@localhost")
    argv = ["git", *identity, *words]
    env = os.environ | LONG_AGO  # that of the test, not of the machine
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, check=True)
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
    taken = snapshot.take(folder, TurnKey("claude", API, second))
    assert taken
    told = {"repo": str(taken.repo), "ref": taken.ref}
    spool.append({"agent": "claude", "session": API, "snapshot": told})
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
    made = shop.json("fork", API, "--yes")["fork"]
    assert made["code"] == "now"
    assert (Path(made["workspace"]) / "limits.py").read_text() == "LIMIT = 99\n"


def test_another_turn_gets_the_nearest_commit_and_says_so(shop: Shell, code: Path) -> None:
    plan = shop.json("fork", f"{API}@3", "--dry-run")["plan"]
    assert any("nearest commit, not exact" in warning for warning in plan["warnings"])


def test_code_that_was_kept_late(shop: Shell, code: Path) -> None:
    plan = shop.json("fork", f"{API}@2", "--dry-run")["plan"]
    [late] = [warning for warning in plan["warnings"] if "after the turn had ended" in warning]
    assert late.startswith("the code was captured ")


def test_a_snapshot_that_was_deleted(shop: Shell, code: Path) -> None:
    for ref in git(code, "for-each-ref", "--format=%(refname)", "refs/prong").split():
        git(code, "update-ref", "-d", ref)
    git(code, "gc", "--quiet", "--prune=now")
    plan = shop.json("fork", f"{API}@2", "--dry-run")["plan"]
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


class TestSeveral:
    def test_each_has_a_worktree_of_its_own(self, shop: Shell, code: Path) -> None:
        forks = shop.json("fork", f"{API}@2", "--count", "3")["forks"]
        assert len({made["workspace"] for made in forks}) == 3
        assert len({made["branch"] for made in forks}) == 3
        for made in forks:
            workspace = Path(made["workspace"])
            assert made["cwd"] == str(workspace)
            assert git(workspace, "status", "--porcelain") == " M limits.py\n?? new.py\n"
            assert git(workspace, "branch", "--show-current").strip() == made["branch"]
            assert shop.json("turns", made["child"])["session"]["cwd"] == str(workspace)

    def test_a_branch_that_was_named(self, shop: Shell, code: Path) -> None:
        forks = shop.json("fork", f"{API}@2", "--count", "3", "--branch", "try/it")["forks"]
        assert [made["branch"] for made in forks] == ["try/it", "try/it-2", "try/it-3"]

    def test_one_of_them_is_taken(self, shop: Shell, code: Path) -> None:
        """That is known before the first one is made."""
        git(code, "branch", "try-2")
        for words in ([], ["--dry-run"]):
            problem = shop.problem(2, "fork", f"{API}@2", "--count", "3", "--branch", "try", *words)
            assert problem["code"] == "taken"
            assert "try-2" in problem["message"]
        assert git(code, "worktree", "list").count("\n") == 1
        assert git(code, "branch", "--list", "try") == ""

    def test_a_plan_says_how_many(self, shop: Shell, code: Path) -> None:
        words = ("fork", f"{API}@2", "--count", "3", "--dry-run")
        assert shop.json(*words)["count"] == 3
        assert "3 forks" in shop.ok(*words)
        assert "fork," not in shop.ok("fork", f"{API}@2", "--dry-run")


def everything(shop: Shell) -> dict[str, bytes]:
    """All files but what may be deleted, and the record of snapshots."""
    own = (shop.home.root / ".cache", shop.home.root / ".local/state")
    return {
        str(path): path.read_bytes()
        for path in shop.home.root.rglob("*")
        if path.is_file() and not path.is_relative_to(own[0]) and not path.is_relative_to(own[1])
    }


@pytest.mark.parametrize("which", ["turn", "now", "head"])
def test_a_plan_writes_nothing(shop: Shell, code: Path, which: str) -> None:
    before = everything(shop)
    plan = shop.json("fork", f"{API}@2", "--code", which, "--dry-run", "--count", "2")["plan"]
    assert plan["code"] == which
    assert not Path(plan["workspace"]).exists()
    assert everything(shop) == before
    assert not (shop.home.root / ".local/share/prong").exists()


def configure(shop: Shell, text: str) -> None:
    path = shop.home.root / ".config/prong/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_ignored_files(shop: Shell, code: Path) -> None:
    configure(shop, '[workspace]\ncopy = [".env"]\nlink = ["node_modules"]\n')
    (code / ".git/info/exclude").write_text(".env\nnode_modules\n*.log\nsecret\n")
    (code / ".env").write_text("KEY=1\n")
    (code / "node_modules/m").mkdir(parents=True)
    (code / "a.log").touch()
    (code / ".worktreeinclude").write_text("secret\n")
    (code / "secret").write_text("s\n")
    workspace = Path(shop.json("fork", API, "--yes")["fork"]["workspace"])
    assert (workspace / ".env").read_text() == "KEY=1\n"
    assert not (workspace / ".env").is_symlink()
    assert (workspace / "node_modules").readlink() == code / "node_modules"
    assert (workspace / "secret").exists()
    assert not (workspace / "a.log").exists()


class TestRoot:
    def test_another_one(self, shop: Shell, code: Path) -> None:
        configure(shop, '[workspace]\nroot = "~/trees"\n')
        made = shop.json("fork", API, "--yes")["fork"]
        assert Path(made["workspace"]).is_relative_to(shop.home.root / "trees")

    @pytest.mark.parametrize("inside", ["trees", "src/trees", ".git/trees", "."])
    def test_not_among_the_files(self, shop: Shell, code: Path, inside: str) -> None:
        configure(shop, f'[workspace]\nroot = "{code / inside}"\n')
        before = everything(shop)
        for words in (["--dry-run"], []):
            problem = shop.problem(2, "fork", API, *words)
            assert "is among the files of" in problem["message"]
            assert "[workspace] root" in problem["hint"]
        assert everything(shop) == before
        assert not (code / "trees").exists()
        assert shop.json("fork", API, "--no-worktree")["fork"]["branch"] is None

    def test_nor_behind_a_link(self, shop: Shell, code: Path) -> None:
        (shop.home.root / "link").symlink_to(code)
        configure(shop, '[workspace]\nroot = "~/link/trees"\n')
        shop.problem(2, "fork", API)

    def test_nor_in_another_worktree_of_it(self, shop: Shell, code: Path) -> None:
        git(code, "worktree", "add", "--quiet", str(shop.home.root / "second"))
        configure(shop, '[workspace]\nroot = "~/second/trees"\n')
        shop.problem(2, "fork", API)

    def test_unless_git_ignores_them(self, shop: Shell, code: Path) -> None:
        (code / ".git/info/exclude").write_text("/.trees/\n")
        before = git(code, "status", "--porcelain")
        configure(shop, f'[workspace]\nroot = "{code}/.trees"\n')
        made = shop.json("fork", API, "--yes")["fork"]
        assert Path(made["workspace"]).is_dir()
        assert git(code, "status", "--porcelain") == before

    def test_where_nothing_can_be_written(self, shop: Shell, code: Path) -> None:
        (shop.home.root / "file").touch()
        configure(shop, '[workspace]\nroot = "~/file/trees"\n')
        problem = shop.problem(8, "fork", API, "--yes")
        assert "[workspace] root" in problem["hint"]


def test_the_code_as_it_is_now_tells_what_it_lacks(shop: Shell, code: Path) -> None:
    with (code / "big.bin").open("wb") as file:
        file.truncate(60_000_000)
    made = shop.json("fork", API, "--code", "now")["fork"]
    assert any("not in the snapshot: big.bin" in warning for warning in made["warnings"])


def test_the_code_as_it_is_now_is_that_of_no_turn(shop: Shell, code: Path) -> None:
    """What the next turn changed is told from the turn before it."""
    refs = ("for-each-ref", "--format=%(refname)", f"refs/prong/claude/{API}/")
    before = git(code, *refs)
    shop.json("fork", API, "--code", "now")
    assert git(code, *refs) == before
    assert git(code, "for-each-ref", "refs/prong/prong/").count("\n") == 1
    shop.problem(2, "fork", API, "--code", "now", "--id", API)
    assert git(code, "for-each-ref", "refs/prong/prong/").count("\n") == 1


class TestFolder:
    """A session that ran below the top of the repository."""

    @pytest.fixture
    def deep(self, shop: Shell, code: Path) -> str:
        (code / "api").mkdir()
        return shop.simple(7, cwd=str(code / "api"))

    def test_as_deep_as_it_ran(self, shop: Shell, code: Path, deep: str) -> None:
        made = shop.json("fork", deep, "--code", "head")["fork"]
        assert Path(made["workspace"]).name == "api"
        assert Path(made["workspace"]).is_dir()
        assert (Path(made["workspace"]).parent / "limits.py").exists()

    @pytest.mark.parametrize("kind", ["file", "link"])
    def test_it_is_something_else_in_that_code(
        self, shop: Shell, code: Path, deep: str, kind: str
    ) -> None:
        (code / "api").rmdir()
        if kind == "file":
            (code / "api").touch()
        else:
            (code / "api").symlink_to(code.parent)
        git(code, "add", "--all")
        git(code, "commit", "--quiet", "--message", "two")
        (code / "api").unlink()
        (code / "api").mkdir()
        problem = shop.problem(2, "fork", deep, "--code", "head")
        assert "does not exist in that code" in problem["message"]
        assert git(code, "worktree", "list").count("\n") == 1


class TestNames:
    """Worktrees and their branches say what they are for."""

    def test_after_the_title(self, shop: Shell, code: Path) -> None:
        git(code, "remote", "add", "origin", str(code))
        pushed = "refs/remotes/origin/prong/rate-limiting-for-the-public-api-2"
        git(code, "update-ref", pushed, "HEAD")
        made = [shop.json("fork", f"{API}@2")["fork"] for _ in range(3)]
        title = "rate-limiting-for-the-public-api"
        # Somebody else pushed the second one.
        names = [title, f"{title}-3", f"{title}-4"]
        assert [one["branch"] for one in made] == [f"prong/{name}" for name in names]
        assert [Path(one["workspace"]).name for one in made] == names
        again = shop.json("fork", made[2]["child"])["fork"]
        assert again["branch"] == f"prong/{title}-5"

    def test_after_what_a_person_says(self, shop: Shell, code: Path) -> None:
        made = shop.json("fork", f"{API}@2", "--title", "Über: the `parser`!")["fork"]
        assert made["branch"] == "prong/uber-the-parser"
        made = shop.json("fork", f"{API}@2", "--branch", "try/it")["fork"]
        assert (made["branch"], Path(made["workspace"]).name) == ("try/it", "try-it")

    def test_a_name_is_not_given_twice(self, shop: Shell, code: Path) -> None:
        """A session that ran in a worktree that is gone must not find another's code there."""
        first = shop.json("fork", f"{API}@2")["fork"]
        shop.ok("worktrees", "prune", "--yes", Path(first["workspace"]).name)
        assert not Path(first["workspace"]).exists()
        second = shop.json("fork", f"{API}@2")["fork"]
        assert second["workspace"] == f"{first['workspace']}-2"

    def test_plans_of_one_moment(self, shop: Shell, code: Path) -> None:
        """Each is carried out, also when another one took its names meanwhile."""
        with App() as app:
            plans = [app.forks.plan(f"{API}@2") for _ in range(3)]
            assert len({plan.workspace for plan in plans}) == 1
            with ThreadPoolExecutor(3) as pool:
                made = list(pool.map(_forked, plans))
        assert sorted((one.branch or "")[-2:] for one in made) == ["-2", "-3", "pi"]
        for one in made:
            assert one.workspace is not None
            assert one.launch is not None
            assert one.launch.cwd == one.workspace
            assert git(one.workspace, "branch", "--show-current").strip() == one.branch

    def test_a_hostile_title(self, shop: Shell, code: Path) -> None:
        key = "ghp_" + "a1B2" * 9
        for title, branch in {
            f"--upload-pack=x {key}\x1b[2J": "prong/upload-pack-x-masked-github-token-2j",
            "../../../etc/passwd.lock": "prong/etc-passwd-lock",
            "\u202e\U000e0041限流": "prong/rate-limiting-for-the-public-api",
        }.items():
            made = shop.json("fork", f"{API}@2", "--title", title)["fork"]
            assert made["branch"] == branch
            assert key not in json.dumps(made["workspace"])

    def test_worktrees_of_earlier_versions(self, shop: Shell, code: Path) -> None:
        made = shop.json("fork", f"{API}@2", "--branch", "prong/1a2b3c4d")["fork"]
        old = Path(made["workspace"]).with_name("1a2b3c4d")
        git(code, "worktree", "move", made["workspace"], str(old))
        (listed,) = shop.json("worktrees")["worktrees"]
        assert (listed["path"], listed["branch"]) == (str(old), "prong/1a2b3c4d")
        shop.ok("worktrees", "prune", "--yes", "--force", "1a2b")
        assert not old.exists()
        assert git(code, "branch", "--list", "prong/*") == ""


def _forked(plan: ForkPlan) -> Fork:
    with App() as app:
        return app.forks.make(plan)


def test_a_branch_that_is_called_prong(shop: Shell, code: Path) -> None:
    git(code, "branch", "prong")
    forks = shop.json("fork", f"{API}@2", "--count", "2")["forks"]
    assert [made["branch"][:6] for made in forks] == ["prong-", "prong-"]


@pytest.mark.parametrize("words", [["--branch", "x"], ["--code-at", "1"]])
def test_what_is_said_about_code_is_not_ignored(shop: Shell, code: Path, words: list[str]) -> None:
    shop.problem(2, "fork", f"{API}@2", "--no-worktree", *words)
    (code / ".git").rename(code / "no longer")
    shop.problem(3, "fork", f"{API}@3", *words)


def go_on(fork: dict[str, Any]) -> None:
    """A turn of its own, for a fork of a Claude session."""
    path = Path(fork["path"])
    told = [json.loads(line) for line in path.read_bytes().splitlines()]
    turn = ClaudeSample(fork["child"].removeprefix("claude:"), fork["workspace"], NOW)
    turn.leaf = next(line["uuid"] for line in reversed(told) if "uuid" in line)
    for _ in range(3):
        turn.prompt("go on")
        turn.answer("Done.")
    with path.open("a") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in turn.lines)


def test_the_worktree_of_the_source_is_gone(shop: Shell, code: Path) -> None:
    """The snapshots that were taken in it are in the repository."""
    first = shop.json("fork", f"{API}@2")["fork"]
    (Path(first["workspace"]) / "new.py").write_text("of the fork\n")
    go_on(first)
    shop.ok("snapshot", first["child"])
    shop.ok("worktrees", "prune", Path(first["workspace"]).name, "--yes", "--force")
    second = shop.json("fork", first["child"])["fork"]
    assert second["code"] == "turn"
    assert (Path(second["workspace"]) / "new.py").read_text() == "of the fork\n"


class TestBranch:
    @pytest.mark.parametrize("words", [[], ["--dry-run"]])
    @pytest.mark.parametrize("name", ["HEAD", "@", "refs/heads/zz", "", "a..b", "-x", "@{-1}"])
    def test_a_name_that_is_none(
        self, shop: Shell, code: Path, name: str, words: list[str]
    ) -> None:
        problem = shop.problem(2, "fork", f"{API}@2", f"--branch={name}", *words)
        assert "cannot be the name of a branch" in problem["message"]
        assert git(code, "worktree", "list").count("\n") == 1

    @pytest.mark.parametrize(("there", "name"), [("a", "a"), ("a/b", "a"), ("a", "a/b")])
    def test_one_that_is_in_the_way(self, shop: Shell, code: Path, there: str, name: str) -> None:
        git(code, "branch", there)
        problem = shop.problem(2, "fork", f"{API}@2", "--branch", name, "--dry-run")
        assert problem["code"] == "taken"


@pytest.mark.parametrize("which", ["now", "head"])
def test_the_turn_of_code_that_is_of_no_turn(shop: Shell, code: Path, which: str) -> None:
    shop.problem(2, "fork", f"{API}@3", "--code", which, "--code-at", "2", "--dry-run")
    shop.problem(2, "fork", f"{API}@3", "--code-at", "", "--dry-run")


class TestFolderOfTheTurn:
    """The agent was somewhere else at another turn."""

    @pytest.fixture
    def wanderer(self, shop: Shell, code: Path) -> str:
        (code / "api").mkdir()
        (code / "api" / "keys.py").touch()
        git(code, "add", "--all")
        git(code, "commit", "--quiet", "--message", "two")
        sample = shop.session(8, cwd=str(code))
        for number, folder in enumerate((code, code / "api", code), start=1):
            sample.cwd = str(folder)
            sample.prompt(f"prompt {number}")
            sample.answer("Done.")
        sample.cwd = str(code)
        sample.write(shop.home.claude)
        return sample.id

    @pytest.mark.parametrize(("turn", "name"), [(0, ""), (1, ""), (2, "api"), (3, "")])
    def test_as_at_the_turn(
        self, shop: Shell, code: Path, wanderer: str, turn: int, name: str
    ) -> None:
        made = shop.json("fork", f"{wanderer}@{turn}", "--code", "head")["fork"]
        top = git(Path(made["workspace"]), "rev-parse", "--show-toplevel").strip()
        assert made["workspace"] == str(Path(top) / name)

    def test_of_codex(self, shop: Shell, code: Path) -> None:
        sample = CodexSample("01a1e076-654d-7c10-8a51-0000000000aa", str(code), NOW)
        sample.turn("one", "Done.")
        sample.cwd = str(code / "api")
        sample.turn("two", "Done.")
        sample.write(shop.home.codex)
        (code / "api").mkdir()
        places = [
            Path(shop.json("fork", f"{sample.id}@{turn}", "--code", "head")["fork"]["workspace"])
            for turn in (0, 1, 2)
        ]
        assert [(place / ".git").exists() for place in places] == [True, True, False]
        assert places[2].name == "api"

    def test_of_a_fork_at_a_turn_of_its_source(
        self, shop: Shell, code: Path, wanderer: str
    ) -> None:
        first = shop.json("fork", f"{wanderer}@2", "--code", "head")["fork"]
        second = shop.json("fork", f"{first['child']}@2", "--code", "head")["fork"]
        assert Path(second["workspace"]).name == "api"


class TestCodex:
    """A fork lives in its worktree; where its source was is no folder of its own."""

    def test_it_is_no_session_of_the_folder(self, shop: Shell, code: Path) -> None:
        made = shop.json("fork", f"codex:{PARSER}@2", "--yes")["fork"]
        assert Path(made["workspace"]).parent != code.parent
        found = shop.json("list", "--project", str(code), "--all")["sessions"]
        assert made["child"] not in [one["ref"] for one in found]
        assert f"codex:{PARSER}" in [one["ref"] for one in found]
        there = shop.json("list", "--project", made["workspace"])["sessions"]
        assert [one["ref"] for one in there] == [made["child"]]
        assert there[0]["cwds"] == [made["workspace"]]


def without_git(shop: Shell) -> Path:
    """A folder for PATH with all but git that the agents' stand-ins need."""
    folder = shop.home.root / "bin"
    for name in ("cat", "env", "grep", "sort"):
        (folder / name).symlink_to(shutil.which(name) or "")
    return folder


class TestGitFails:
    """There is code, and git does not give it."""

    @pytest.fixture(params=["missing", "broken", "refused"])
    def no_git(self, request: pytest.FixtureRequest, shop: Shell, code: Path) -> dict[str, str]:
        if request.param == "broken":
            (code / ".git/HEAD").unlink()
            return {}
        path = without_git(shop)
        if request.param == "refused":
            program = path / "git"
            real = shutil.which("git")
            told = "GIT_TEST_ASSUME_DIFFERENT_OWNER=1"
            program.write_text(f'#!/bin/sh\nexec env {told} {real} "$@"\n')
            program.chmod(0o755)
        return {"PATH": str(path)}

    @pytest.mark.parametrize("turn", [2, 3, 4])
    def test_nothing_is_done_silently(
        self, shop: Shell, code: Path, no_git: dict[str, str], turn: int
    ) -> None:
        point = f"{API}@{turn}"
        plan = shop.json("fork", point, "--dry-run", **no_git)["plan"]
        [warning] = [one for one in plan["warnings"] if "no code is touched" in one]
        assert "git" in warning
        assert "git" in shop.fails(3, "fork", point, **no_git)
        problem = shop.problem(3, "fork", point, **no_git)
        assert "--no-worktree" in problem["hint"]
        made = shop.json("fork", point, "--yes", **no_git)["fork"]
        assert (made["workspace"], made["code"]) == (str(code), "none")
        assert warning in made["warnings"]

    def test_who_wants_no_code_is_not_told(
        self, shop: Shell, code: Path, no_git: dict[str, str]
    ) -> None:
        made = shop.json("fork", f"{API}@2", "--no-worktree", **no_git)["fork"]
        assert not [one for one in made["warnings"] if "no code" in one]


def test_without_git_a_plain_folder_is_as_ever(shop: Shell) -> None:
    made = shop.json("fork", f"{API}@2", PATH=str(without_git(shop)))["fork"]
    assert made["warnings"] == []
