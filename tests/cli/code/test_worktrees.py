"""`prong worktrees`: what is listed, what can go, and what never goes."""

import json
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner

from prong.agents.claude.folders import project_folder
from prong.cli import main
from prong.code.snapshots import snapshot
from prong.code.worktrees.journal import Undo
from prong.model.code import TurnKey
from tests.cli.shell import API, Shell, prong
from tests.cli.terminal import on_terminal
from tests.unit.hook.hook_agent import Agent

OURS = ("-c", "user.name=ada", "-c", "user.email=ada@localhost")


def git(folder: Path, *words: str) -> str:
    argv = ["git", *OURS, *words]
    return subprocess.run(argv, cwd=folder, capture_output=True, check=True).stdout.decode()


@pytest.fixture
def code(shop: Shell) -> Path:
    """A repository where the sample sessions ran, with a change that is not committed."""
    folder = shop.home.projects / "shop"
    git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / "limits.py").write_text("LIMIT = 60\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "one")
    (folder / "limits.py").write_text("LIMIT = 99\n")
    return folder


def root_of(shell: Shell) -> Path:
    return shell.home.root / ".local/share/prong/worktrees"


def fork(shell: Shell, *words: str, ran: bool = True) -> dict[str, Any]:
    """A fork with a worktree; `ran`: the agent has been asked something there."""
    made = shell.json("fork", API, "--yes", *words)["fork"]
    if ran:
        line = json.loads(Path(made["path"]).read_text().splitlines()[-2])
        prompt = {"role": "user", "content": "and now?"}
        more = {"type": "user", "uuid": str(uuid4()), "parentUuid": _last(made), "message": prompt}
        more |= {"cwd": made["workspace"], "sessionId": made["child"].partition(":")[2]}
        more |= {"timestamp": line.get("timestamp") or "2026-01-01T00:00:00Z"}
        with Path(made["path"]).open("a") as file:
            file.write(json.dumps(more) + "\n")
    return made


def _last(made: dict[str, Any]) -> str:
    lines = map(json.loads, Path(made["path"]).read_text().splitlines())
    return [line["uuid"] for line in lines if "uuid" in line][-1]


def one(shell: Shell) -> dict[str, Any]:
    (found,) = shell.json("worktrees")["worktrees"]
    return found


def play_agent(shell: Shell, made: dict[str, Any], status: str) -> Path:
    """This process is the agent that has the session open."""
    place = shell.home.claude / "sessions" / f"{os.getpid()}.json"
    place.parent.mkdir(exist_ok=True)
    id_ = made["child"].partition(":")[2]
    place.write_text(json.dumps({"pid": os.getpid(), "sessionId": id_, "status": status}))
    return place


def test_there_are_none(shop: Shell) -> None:
    result = shop.run("worktrees")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "prong fork" in result.stderr
    assert shop.json("worktrees") == {"worktrees": []}
    assert "prong fork" in shop.run("worktrees", "prune").stderr
    assert not root_of(shop).exists()


def test_one_is_listed(shop: Shell, code: Path) -> None:
    made = fork(shop, "--branch", "try")
    found = one(shop)
    workspace = Path(made["workspace"])
    assert found["name"] == workspace.name
    assert found["path"] == str(workspace)
    assert found["repository"] == str(code)
    assert (found["branch"], found["session"]) == ("try", made["child"])
    assert found["parent"] == made["parent"]
    assert found["title"]
    assert found["state"] == "finished"
    assert found["size"] > 0
    assert (found["dirty"], found["files"], found["commits"]) == (False, [], 0)
    text = shop.ok("worktrees")
    assert "finished  now" in text
    assert "clean" in text
    assert "try of ~/projects/shop" in text
    assert f"~/{workspace.relative_to(shop.home.root)}" in text


def test_a_fork_that_was_not_run_yet(shop: Shell, code: Path) -> None:
    made = fork(shop, ran=False)
    assert one(shop)["state"] == "new"
    result = shop.run("worktrees", "prune", "--yes")
    assert "not run yet" in result.stderr
    assert Path(made["workspace"]).exists()
    shop.ok("worktrees", "prune", Path(made["workspace"]).name, "--yes")
    assert shop.json("worktrees")["worktrees"] == []


def test_what_was_done_in_it(shop: Shell, code: Path) -> None:
    workspace = Path(fork(shop)["workspace"])
    git(workspace, "commit", "--quiet", "--all", "--message", "work")
    (workspace / "new.py").write_text("new\n")
    (workspace / "limits.py").write_text("LIMIT = 1\n")
    found = one(shop)
    assert sorted(found["files"]) == ["limits.py", "new.py"]
    assert (found["dirty"], found["commits"]) == (True, 1)
    assert "2 changed files, 1 own commit" in shop.ok("worktrees")
    git(code, "branch", "merged", found["branch"])
    assert one(shop)["commits"] == 0


def test_finished_ones_go(shop: Shell, code: Path) -> None:
    made = fork(shop)
    before = git(code, "status", "--porcelain=v2", "--branch")
    plan = shop.json("worktrees", "prune", "--dry-run")
    assert [each["path"] for each in plan["removed"]] == [made["workspace"]]
    assert plan["dry_run"] is True
    assert Path(made["workspace"]).exists()
    done = shop.json("worktrees", "prune", "--yes")
    assert done["removed"][0]["kept_branch"] is None
    assert not Path(made["workspace"]).exists()
    assert not Path(made["workspace"]).parent.exists()
    assert git(code, "worktree", "list").count("\n") == 1
    assert git(code, "branch", "--format=%(refname:short)") == "main\n"
    assert git(code, "status", "--porcelain=v2", "--branch") == before
    assert shop.run("worktrees", "prune", "--yes").exit_code == 0


def test_it_asks(shop: Shell, code: Path) -> None:
    made = fork(shop)
    assert shop.problem(2, "worktrees", "prune")["hint"].startswith("--yes")
    assert "--yes" in shop.run("worktrees", "prune").stderr
    assert Path(made["workspace"]).exists()
    shown = on_terminal(shop, "worktrees", "prune", "--dry-run")
    assert Path(made["workspace"]).name in shown.output
    assert "1 worktree would be removed" in shown.output


@pytest.mark.parametrize(("answer", "status"), [("\n", 130), ("n\n", 130), ("y\n", 0)])
def test_the_answer(
    shop: Shell, code: Path, monkeypatch: pytest.MonkeyPatch, answer: str, status: int
) -> None:
    workspace = Path(fork(shop)["workspace"])
    monkeypatch.setattr("prong.cli.output.can_ask", lambda: True)
    result = CliRunner().invoke(main, ["worktrees", "prune"], input=answer)
    assert result.exit_code == status
    # It is named before it is asked for.
    assert result.output.index(workspace.name) < result.output.index("Remove 1 worktree, with")
    assert "with all files that git ignores there?" in result.output
    assert workspace.exists() == (status != 0)


@pytest.mark.parametrize("status", ["busy", "idle"])
def test_never_one_that_an_agent_has_open(shop: Shell, code: Path, status: str) -> None:
    made = fork(shop)
    process = play_agent(shop, made, status)
    assert one(shop)["state"] == "open"
    name = Path(made["workspace"]).name
    for words in ([], [name], [made["branch"]], [made["workspace"]]):
        result = shop.run("worktrees", "prune", "--yes", "--force", *words)
        assert result.exit_code == (4 if words else 0)
        assert "open" in result.stderr
    assert Path(made["workspace"]).exists()
    process.unlink()
    shop.ok("worktrees", "prune", "--yes", name[:5])
    assert not Path(made["workspace"]).exists()


def test_a_program_that_runs_in_it(shop: Shell, code: Path) -> None:
    workspace = Path(fork(shop)["workspace"])
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, cwd=workspace) as program:
        assert one(shop)["processes"] == [program.pid]
        problem = shop.problem(4, "worktrees", "prune", workspace.name, "--yes")
        assert str(program.pid) in problem["message"]
        assert program.stdin
        program.stdin.close()
    assert one(shop)["processes"] == []


def test_the_shell_that_one_is_in(shop: Shell, code: Path) -> None:
    workspace = Path(fork(shop)["workspace"])

    def typed_there(*words: str) -> tuple[int, int, str]:
        command = shlex.join(prong("worktrees", "prune", workspace.name, "--yes", *words))
        with subprocess.Popen(
            ["sh", "-c", f"{command}; exit $?"],  # so that the shell stays
            cwd=workspace,
            env=shop.env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as shell:
            said = shell.communicate()[1]
        return shell.pid, shell.returncode, said

    shell, status, said = typed_there()
    assert status == 4
    assert f"a program runs in {workspace.name}: process {shell} (your shell)\n" in said
    assert "cd elsewhere, or use --force" in said
    assert typed_there("--force")[1] == 0
    assert not workspace.exists()


class TestWithoutGit:
    @pytest.fixture
    def nothing(self, tmp_path: Path) -> str:
        return str(tmp_path)

    def test_nothing_is_deleted(self, shop: Shell, code: Path, nothing: str) -> None:
        workspace = Path(fork(shop)["workspace"])
        words = ("worktrees", "prune", workspace.name, "--force", "--yes")
        problem = shop.problem(5, *words, PATH=nothing)
        assert (problem["message"], problem["hint"]) == ("git is not installed", "install git")
        assert (workspace / "limits.py").exists()
        assert one(shop)["state"] == "finished"
        shop.ok(*words)

    def test_force_is_no_help(self, shop: Shell, code: Path, nothing: str) -> None:
        name = Path(fork(shop)["workspace"]).name
        problem = shop.problem(4, "worktrees", "prune", name, "--yes", PATH=nothing)
        assert problem["message"] == f"git cannot read {name}: git is not installed"
        assert problem["hint"] == "install git"

    def test_a_repository_that_git_cannot_open(self, shop: Shell, code: Path) -> None:
        workspace = Path(fork(shop)["workspace"])
        (code / ".git/HEAD").write_text("broken\n")
        problem = shop.problem(8, "worktrees", "prune", workspace.name, "--force", "--yes")
        assert problem["message"] == f"git cannot open the repository {code / '.git'}"
        assert (workspace / "limits.py").exists()


def test_changes_that_are_in_a_snapshot(shop: Shell, code: Path) -> None:
    made = fork(shop)
    workspace = Path(made["workspace"])
    (workspace / "new.py").write_text("new\n")
    agent, id_ = Agent(shop.home, workspace), made["child"].partition(":")[2]
    agent.claude("Stop", Path(made["path"]), session_id=id_)
    (taken,) = snapshot.find(workspace, TurnKey("claude", id_, "any"))
    assert one(shop)["dirty"] is False
    assert "1 file in a snapshot" in shop.ok("worktrees")
    (workspace / "new.py").write_text("newer\n")
    shop.problem(4, "worktrees", "prune", "--yes", workspace.name)
    (workspace / "new.py").write_text("new\n")
    shop.ok("worktrees", "prune", "--yes", workspace.name)
    assert not workspace.exists()
    assert git(code, "show", f"{taken.ref}:new.py") == "new\n"


def test_changes_are_not_lost(shop: Shell, code: Path) -> None:
    workspace = Path(fork(shop)["workspace"])
    (workspace / "new.py").write_text("new\n")
    assert "nowhere else" in shop.run("worktrees", "prune", "--yes").stderr
    problem = shop.problem(4, "worktrees", "prune", "--yes", workspace.name)
    assert problem["code"] == "dirty"
    assert "--force" in problem["hint"]
    assert workspace.exists()
    result = shop.run("worktrees", "prune", "--yes", "--force")
    assert "1 changed file will be lost" in result.stderr
    assert not workspace.exists()


def test_an_ignored_repository_is_not_lost(shop: Shell, code: Path) -> None:
    (code / ".gitignore").write_text("cache/\n")
    workspace = Path(fork(shop)["workspace"])
    (workspace / "cache").mkdir()
    (workspace / "cache" / "data").write_text("made again\n")
    assert one(shop)["dirty"] is False
    git(workspace, "init", "--quiet", "cache/tool")
    (workspace / "cache/tool/new.py").write_text("new\n")
    assert one(shop)["files"] == ["cache/tool"]
    shop.problem(4, "worktrees", "prune", "--yes", workspace.name)
    assert workspace.exists()


def test_deleted_snapshots(shop: Shell, code: Path) -> None:
    """As the documentation says how: then only the worktree has what was not committed."""
    workspace = Path(fork(shop)["workspace"])
    assert one(shop)["dirty"] is False
    for ref in git(code, "for-each-ref", "--format=%(refname)", "refs/prong/").split():
        git(code, "update-ref", "-d", ref)
    shop.problem(4, "worktrees", "prune", "--yes", workspace.name)
    assert (workspace / "limits.py").read_text() == "LIMIT = 99\n"


def test_the_snapshot_that_was_taken_for_it(shop: Shell, code: Path) -> None:
    refs = ("for-each-ref", "--format=%(refname)", "refs/prong/")
    workspace = Path(fork(shop, "--code", "now")["workspace"])
    (ref,) = git(code, *refs).split()
    assert ref.startswith(f"refs/prong/prong/{workspace.name}-")
    (workspace / "limits.py").write_text("LIMIT = 1\n")
    shop.ok("worktrees", "prune", "--yes", "--force")
    assert git(code, *refs) == ""


def test_a_branch_with_commits_stays(shop: Shell, code: Path) -> None:
    made = fork(shop)
    git(Path(made["workspace"]), "commit", "--quiet", "--all", "--message", "work")
    result = shop.run("worktrees", "prune", "--yes")
    assert f"the branch {made['branch']} is kept: it has 1 commit of its own" in result.stderr
    assert git(code, "log", "-1", "--format=%s", made["branch"]) == "work\n"


def test_a_branch_that_was_merged_goes(shop: Shell, code: Path) -> None:
    made = fork(shop)
    git(Path(made["workspace"]), "commit", "--quiet", "--all", "--message", "work")
    git(code, "branch", "other", made["branch"])
    done = shop.json("worktrees", "prune", "--yes")
    assert done["removed"][0]["kept_branch"] is None
    assert git(code, "branch", "--format=%(refname:short)") == "main\nother\n"


def test_a_locked_one_stays(shop: Shell, code: Path) -> None:
    workspace = Path(fork(shop)["workspace"])
    git(code, "worktree", "lock", str(workspace))
    assert "locked" in shop.ok("worktrees")
    assert shop.problem(4, "worktrees", "prune", "--yes", workspace.name)["hint"].startswith("git")
    assert workspace.exists()


def test_one_that_is_being_made(shop: Shell, code: Path) -> None:
    workspace = Path(fork(shop)["workspace"])
    with Undo(root_of(shop)) as undo:
        undo.will(worktree=str(workspace))
        assert one(shop)["state"] == "under way"
        shop.problem(4, "worktrees", "prune", "--yes", "--force", workspace.name)
        undo.keep()
    assert one(shop)["state"] == "finished"


class TestGoneByHand:
    def test_git_forgets_it(self, shop: Shell, code: Path) -> None:
        made = fork(shop)
        git(code, "worktree", "add", "--quiet", str(shop.home.root / "theirs"))
        shutil.rmtree(made["workspace"])
        shutil.rmtree(shop.home.root / "theirs")
        found = one(shop)
        assert (found["state"], found["path"]) == ("missing", made["workspace"])
        assert "missing" in shop.ok("worktrees")
        shop.ok("worktrees", "prune", "--yes")
        assert shop.json("worktrees")["worktrees"] == []
        # That of the user is theirs to prune.
        assert "theirs" in git(code, "worktree", "list")
        assert git(code, "branch", "--list", "prong/*") == ""

    def test_commits_stay(self, shop: Shell, code: Path) -> None:
        made = fork(shop)
        git(Path(made["workspace"]), "commit", "--quiet", "--all", "--message", "work")
        shutil.rmtree(made["workspace"])
        done = shop.json("worktrees", "prune", "--yes")
        assert done["removed"][0]["kept_branch"] == made["branch"]

    def test_a_disk_that_is_not_mounted(self, shop: Shell, code: Path) -> None:
        fork(shop)
        root_of(shop).rename(root_of(shop).with_name("elsewhere"))
        assert shop.json("worktrees")["worktrees"] == []


def test_a_copy_of_a_worktree_is_not_ours(shop: Shell, code: Path) -> None:
    workspace = Path(fork(shop)["workspace"])
    shutil.copytree(workspace, workspace.with_name("copy"))
    assert one(shop)["path"] == str(workspace)


def test_names(shop: Shell, code: Path) -> None:
    assert shop.problem(3, "worktrees", "prune", "--yes", "nobody")["hint"] == "prong worktrees"
    assert shop.problem(3, "worktrees", "prune", "--yes", "")["code"] == "not_found"


def test_the_session_is_found_by_its_folder(shop: Shell, code: Path) -> None:
    """A prong that was killed before it could write down whose worktree it is."""
    made = fork(shop)
    (record,) = (code / ".git/worktrees").glob("*/prong.json")
    told = json.loads(record.read_text())
    assert told["session"] == made["child"]
    record.write_text(json.dumps({**told, "session": None}))
    assert one(shop)["session"] == made["child"]


def test_a_session_that_is_gone(shop: Shell, code: Path) -> None:
    made = fork(shop)
    Path(made["path"]).unlink()
    assert one(shop)["state"] == "new"
    (record,) = (code / ".git/worktrees").glob("*/prong.json")
    told = json.loads(record.read_text())
    record.write_text(json.dumps({**told, "created": "2026-01-01T00:00:00+00:00"}))
    assert one(shop)["state"] == "finished"


def test_another_root(shop: Shell, code: Path) -> None:
    first = fork(shop)
    config = shop.home.root / ".config/prong/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[workspace]\nroot = "~/trees"\n')
    second = fork(shop)
    assert second["workspace"].startswith(f"{shop.home.root}/trees/")
    found = shop.json("worktrees")["worktrees"]
    assert [each["path"] for each in found] == [first["workspace"], second["workspace"]]
    assert [each["state"] for each in found] == ["finished", "finished"], found
    shop.ok("worktrees", "prune", "--yes")
    assert not Path(first["workspace"]).exists()
    assert not Path(second["workspace"]).exists()


def test_sizes_do_not_take_long(shop: Shell, code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fork(shop)
    monkeypatch.setattr("prong.code.worktrees.status._PATIENCE", -1.0)
    assert one(shop)["size"] is None
    assert " ?  " in shop.ok("worktrees")


def test_names_of_files_are_data(shop: Shell, code: Path) -> None:
    workspace = Path(fork(shop)["workspace"])
    (workspace / "a\x1b[31mb").touch()
    assert "\x1b[31m" not in shop.ok("worktrees")
    assert one(shop)["files"] == ["a\x1b[31mb"]


def test_it_is_quick(shop: Shell, code: Path) -> None:
    """Git looks at several at a time."""
    shop.json("fork", API, "--yes", "--count", "8")
    start = time.monotonic()
    assert len(shop.json("worktrees")["worktrees"]) == 8
    assert time.monotonic() - start < 5


def test_the_project_folder_is_that_of_the_worktree(shop: Shell, code: Path) -> None:
    made = fork(shop, ran=False)
    assert Path(made["path"]).parent.name == project_folder(Path(made["workspace"]))
