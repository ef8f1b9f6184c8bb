"""`prong demo`: all of it on samples, and nothing left behind."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prong.setup.service import SetupService
from tests.cli import agents
from tests.cli.shell import API, WINDOW, Shell, prong

INTERRUPTED = """
import os, signal, sys
from prong.agents.codex.store import CodexStore
def write_samples(self, cwd, now, turn_over):
    os.kill(os.getpid(), signal.SIGINT)
CodexStore.write_samples = write_samples
from prong.cli import main
main(["demo"])
"""
AFTER_A_SEARCH = "fork a hit: prong fork %1"
VARIABLES = {
    *("CLAUDE_CONFIG_DIR", "CODEX_HOME"),
    *("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"),
}


@pytest.fixture
def temp(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files; empty."""
    folder = shell.home.root / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


@pytest.fixture
def kept(shell: Shell, temp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository of a demo that is still there. Commands use its samples."""
    made = shell.json("demo")
    for name, value in made["environment"].items():
        monkeypatch.setenv(name, value)
    assert Path(made["repository"]).is_relative_to(temp)
    return Path(made["repository"])


def git(folder: Path, *words: str) -> str:
    argv = ["git", "-C", str(folder), *words]
    return subprocess.run(argv, capture_output=True, check=True, text=True).stdout


def state_of(root: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in root.rglob("*")}


def test_it_shows_every_command_at_work_and_leaves_nothing(shell: Shell, temp: Path) -> None:
    text = shell.ok("demo")
    for command in (
        *("find 'share the request counters between workers'", "list"),
        *("turns claude:60309e1e --all", "show claude:60309e1e@2"),
        *("diff claude:60309e1e@2 --no-pager", "worktrees", "tree"),
    ):
        assert f"$ prong {command}\n" in text
    assert "\n+import redis\n" in text
    assert "└─ @2 claude:7d1c44a2" in text
    assert "└─ @1 codex:01a1e5b2" in text
    assert list(temp.iterdir()) == []


def test_it_finds_a_turn_and_forks_there(shell: Shell, temp: Path) -> None:
    text = shell.ok("demo")
    found = text.partition("$ prong find")[2].splitlines()
    assert re.match(r"%1  [01]\.\d\d  claude:60309e1e@2  \d+h ago +\+10 -11  ", found[1])
    assert found[2].strip() == "Keep the counters in Redis, so that all workers share them"
    assert found[3].strip() == "also in claude:7d1c44a2@2"
    fork = text.partition("$ prong fork %1 --title 'A token bucket in Redis'\n")[2]
    assert fork.startswith(f"forked claude:{API}@2 into claude:")


def test_keep(shell: Shell, temp: Path) -> None:
    text = shell.ok("demo", "--keep")
    variables = dict(re.findall(r"export (\w+)=(\S+)", text))
    assert variables.keys() == VARIABLES
    assert all(Path(value).is_relative_to(temp) for value in variables.values())
    assert len(shell.json("list", **variables)["sessions"]) == 6
    folder = re.findall(r"^  cd (\S+)$", text, flags=re.MULTILINE)[-1]
    assert git(Path(folder), "log", "--format=%s") == "Start\n"


def test_it_shows_what_each_turn_changed(shell: Shell, temp: Path) -> None:
    turns = shell.ok("demo").partition("$ prong turns")[2]
    assert re.search(r"^ +1  \d+h ago +\+15 -2  1 file", turns, re.MULTILINE)
    assert re.search(r"^ +4  \d+h ago +\+7 -0  1 file", turns, re.MULTILINE)


def test_the_fork_has_a_worktree_in_the_throw_away_folder(shell: Shell, temp: Path) -> None:
    fork = shell.ok("demo").partition("$ prong fork")[2]
    found = re.search(r"cd (\S+) && claude --resume", fork)
    assert found
    assert "/data/prong/worktrees/shop-" in found[1]
    assert Path(found[1]).is_relative_to(temp)


def test_the_code_of_every_turn_is_what_its_transcript_says(shell: Shell, kept: Path) -> None:
    for session, inherited in ((API, 0), (WINDOW, 2)):
        told = shell.json("turns", session)
        before = "main"
        for turn in told["turns"]:
            changed = git(kept, "diff", "--name-only", before, turn["snapshot"]).splitlines()
            assert [str(kept / name) for name in changed] == turn["files"]
            before = turn["snapshot"]
        stats = [turn["diffstat"] for turn in told["turns"]]
        assert all(stat["files"] == 1 and stat["added"] > 5 for stat in stats[inherited:])
    [abandoned] = shell.json("turns", API)["abandoned"]
    assert "shop.database" in git(kept, "show", f"{abandoned['snapshot']}:shop/limit.py")


def test_a_fork_of_it_has_the_code_of_its_turn(
    shell: Shell, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.install_both(shell, monkeypatch)
    here = (kept / "shop/limit.py").read_text()
    made = shell.json("fork", f"{API}@2", "--title", "x")["fork"]
    there = Path(made["workspace"])
    assert there.is_relative_to(kept.parent)
    assert "_counters.incr" in (there / "shop/limit.py").read_text()
    assert not (there / "tests/conftest.py").exists()
    assert made["branch"] == git(there, "branch", "--show-current").strip()
    assert (kept / "shop/limit.py").read_text() == here
    assert git(kept, "branch", "--show-current") == "main\n"


def test_it_neither_reads_nor_writes_what_is_yours(samples: Shell, temp: Path) -> None:
    own = samples.home.root / ".gitconfig"
    own.write_text("[init]\n\ttemplateDir = /nowhere\n[commit]\n\tgpgSign = true\n")
    before = state_of(samples.home.root)
    text = samples.ok("demo")
    after = state_of(samples.home.root)
    del before[str(temp)], after[str(temp)]
    assert after == before
    assert len(re.findall("^claude:60309e1e ", text, re.MULTILINE)) == 2  # list and tree
    assert str(samples.home.projects) not in text


def test_git_does_not_read_what_is_yours_either(
    shell: Shell, temp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = shell.ok("demo").partition("$ prong turns")[2].partition("\n\n")[0]
    ignore = shell.home.root / ".config" / "git" / "ignore"
    ignore.parent.mkdir(parents=True)
    ignore.write_text("tests/\nshop/\n")
    mine = shell.home.root / "mine"
    subprocess.run(["git", "init", "--quiet", str(mine)], check=True)
    before = state_of(mine)
    # As in a hook of git.
    monkeypatch.setenv("GIT_DIR", str(mine / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(mine / ".git" / "index"))
    found = shell.ok("demo").partition("$ prong turns")[2].partition("\n\n")[0]
    assert without_folder(found) == without_folder(wanted)
    assert state_of(mine) == before


def without_folder(text: str) -> str:
    return re.sub(r"prong-demo-\w+", "prong-demo", text)


def test_it_works_without_git(shell: Shell, temp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(temp))
    text = shell.ok("demo")
    assert "claude:60309e1e" in text
    assert "+15 -2" not in text
    assert "$ prong diff" not in text
    assert re.search(r"^  cd \S+/home/shop && claude --resume", text, re.MULTILINE)


def test_it_works_with_a_git_that_fails(
    shell: Shell, temp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shell.home.root / "bin"
    folder.mkdir()
    (folder / "git").write_text("#!/bin/sh\necho broken >&2\nexit 1\n", encoding="utf-8")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    result = shell.run("demo")
    assert (result.exit_code, result.stderr) == (0, f"{AFTER_A_SEARCH}\n")


def test_an_error_leaves_nothing(shell: Shell, temp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: SetupService, home: Path) -> None:
        home.mkdir()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SetupService, "demo", fail)
    assert "No space left" in shell.fails(1, "demo")
    assert list(temp.iterdir()) == []


def test_ctrl_c_leaves_nothing(shell: Shell, temp: Path) -> None:
    env = shell.env(TMPDIR=str(temp))
    argv = [sys.executable, "-c", INTERRUPTED]
    result = subprocess.run(argv, env=env, capture_output=True, check=False, timeout=60)
    assert (result.returncode, result.stdout, result.stderr.strip()) == (130, b"", b"")
    assert list(temp.iterdir()) == []


def test_a_closed_pipe_leaves_nothing(shell: Shell, temp: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        env = shell.env(TMPDIR=str(temp))
        result = subprocess.run(prong("demo"), env=env, stdout=pipe, check=False, timeout=60)
    assert result.returncode == 0
    assert list(temp.iterdir()) == []


def test_the_kept_folder_is_private(shell: Shell, temp: Path) -> None:
    shell.ok("demo", "--keep")
    [folder] = temp.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    shutil.rmtree(folder)


def test_json_keeps_the_samples_and_says_where_they_are(shell: Shell) -> None:
    made = shell.json("demo")
    try:
        assert Path(made["repository"]).is_dir()
        assert made["sessions"][0] == f"claude:{API}"
        assert len(shell.json("list", **made["environment"])["sessions"]) == 5
    finally:
        shutil.rmtree(Path(made["repository"]).parents[1])
