"""`prong demo`: all of it on samples, and nothing left behind."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from prong.app import App
from tests.cli.shell import API, Shell, prong

INTERRUPTED = """
import os, signal, sys
from prong.agents.codex.store import CodexStore
def write_samples(self, cwd, now):
    os.kill(os.getpid(), signal.SIGINT)
CodexStore.write_samples = write_samples
from prong.cli import main
main(["demo"])
"""


@pytest.fixture
def temp(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files; empty."""
    folder = shell.home.root / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def state_of(root: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in root.rglob("*")}


def test_it_shows_every_command_at_work_and_leaves_nothing(shell: Shell, temp: Path) -> None:
    text = shell.ok("demo")
    for command in ("list", "turns claude:60309e1e --all", "show claude:60309e1e@2", "tree"):
        assert f"$ prong {command}\n" in text
    assert "└─ @2 claude:7d1c44a2" in text
    assert "└─ @1 codex:01a1e5b2" in text
    assert list(temp.iterdir()) == []


def test_keep(shell: Shell, temp: Path) -> None:
    text = shell.ok("demo", "--keep")
    variables = dict(re.findall(r"export (\w+)=(\S+)", text))
    assert variables.keys() == {"CLAUDE_CONFIG_DIR", "CODEX_HOME"}
    assert len(shell.json("list", **variables)["sessions"]) == 6
    folder = re.findall(r"^  cd (\S+)$", text, flags=re.MULTILINE)[-1]
    log = subprocess.run(
        ["git", "log", "--format=%s"], cwd=folder, capture_output=True, check=True, text=True
    )
    assert log.stdout == "Start\n"


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


def test_it_works_without_git(shell: Shell, temp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(temp))
    assert "claude:60309e1e" in shell.ok("demo")


def test_it_works_with_a_git_that_fails(
    shell: Shell, temp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shell.home.root / "bin"
    folder.mkdir()
    (folder / "git").write_text("#!/bin/sh\necho broken >&2\nexit 1\n", encoding="utf-8")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    result = shell.run("demo")
    assert (result.exit_code, result.stderr) == (0, "")


def test_an_error_leaves_nothing(shell: Shell, temp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: App, home: Path) -> None:
        home.mkdir()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(App, "demo", fail)
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
