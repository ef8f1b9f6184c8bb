"""Workers for tests: a stand-in agent, a git repository, and a tmux of their own."""

import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prong.agents.claude.store import ClaudeStore
from prong.paths import state_dir
from prong.storage.workers import WorkerRecords
from tests.cli.code_lab import git
from tests.cli.shell import Shell
from tests.cli.terminal import Shown, on_terminal

ROOT = Path(__file__).parents[2]
PATIENCE = 20.0

_PROGRAM = """#!/bin/sh
case "$1" in
--help) cat <<'END'
{help}
END
exit;;
--version) echo "2.1.326 (Claude Code)"; exit;;
esac
PYTHONPATH={root} exec {python} -m tests.cli.stand_in "$@"
"""


@dataclass(frozen=True)
class WorkerLab:
    """A home in which `claude` is the stand-in, and `tmux` a server that ends with the test."""

    shell: Shell
    project: Path
    socket: Path

    def run(self, *words: str) -> dict[str, Any]:
        """What `prong run --json` says of the worker."""
        return self.shell.json("run", *self.here, *words)["worker"]

    @property
    def here(self) -> tuple[str, ...]:
        """For this project, in folders that the agent is told to trust."""
        return ("--project", str(self.project), "--trust", "--yes")

    def status(self, name: str) -> dict[str, Any]:
        return self.shell.json("status", name)

    def until(self, name: str, state: str) -> dict[str, Any]:
        """The status as soon as the worker is in a state."""
        end = time.monotonic() + PATIENCE
        while (found := self.status(name))["state"] != state:
            assert time.monotonic() < end, found
            time.sleep(0.05)
        return found

    def until_recorded(self, name: str) -> None:
        """Wait until its program runs, as the record has it."""
        end = time.monotonic() + PATIENCE
        records = WorkerRecords(state_dir() / "state.db")
        while (found := records.named(name)) is None or found.started is None:
            assert time.monotonic() < end
            time.sleep(0.02)

    def on_terminal(self, *words: str, columns: int = 100, inside: bool = False) -> Shown:
        """Type a command in a terminal, without colours; `inside` of the tmux if that is said."""
        around = self.inside() if inside else {}
        own = {"PRONG_TMUX_SOCKET": str(self.socket), "NO_COLOR": "1", **around}
        return on_terminal(self.shell, *words, size=(24, columns), **own)

    def env(self) -> dict[str, str]:
        """For a process of its own."""
        return self.shell.env(PRONG_TMUX_SOCKET=str(self.socket))

    def inside(self) -> dict[str, str]:
        """What is set in a pane of the tmux; a worker must be there already."""
        found = self.tmux("display-message", "-p", "#{socket_path},#{pid},0 #{pane_id}").split()
        return {"TMUX": found[0], "TMUX_PANE": found[1]}

    def tmux(self, *words: str) -> str:
        argv = ["tmux", "-S", str(self.socket), *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout


@contextmanager
def made(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Generator[WorkerLab]:
    folder = shell.home.root / "bin"
    folder.mkdir()
    program = folder / "claude"
    flags = (*ClaudeStore().program.flags, "--settings", "--output-format", "--model")
    shown = "\n".join(f"  {flag}  does" for flag in flags)
    program.write_text(_PROGRAM.format(help=shown, root=ROOT, python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/local/bin:/usr/bin:/bin")
    for name in ("TMUX", "TMUX_PANE", "KITTY_WINDOW_ID", "WEZTERM_PANE", "ITERM_SESSION_ID"):
        monkeypatch.delenv(name, raising=False)
    socket = shell.home.root / "tmux.sock"
    monkeypatch.setenv("PRONG_TMUX_SOCKET", str(socket))
    project = shell.home.projects / "shop"
    project.mkdir(parents=True, exist_ok=True)
    git(project, "init", "--quiet", "--initial-branch", "main")
    (project / "README.md").write_text("# Shop\n")
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "by hand")
    lab = WorkerLab(shell, project, socket)
    try:
        yield lab
    finally:
        lab.tmux("kill-server")
