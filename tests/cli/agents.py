"""Programs that stand in for the agents: they know the flags, and say what they were given."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from prong.agents.claude.store import ClaudeStore
from tests.cli.shell import Shell

_SCRIPT = """#!/bin/sh
case "$1" in
--help) cat <<'END'
{help}
END
exit;;
--version) echo 1.2.3; exit;;
esac
pwd
env | grep -E '^(CLAUDE|CODEX)' | sort
for word in "$@"; do printf '<%s>\\n' "$word"; done
"""


def install(folder: Path, name: str, flags: tuple[str, ...]) -> Path:
    """A program that lists the flags in its help and prints where and how it was started."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(_SCRIPT.format(help="\n".join(f"  {flag}  does" for flag in flags)))
    program.chmod(0o755)
    return program


def install_both(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Both agents, alone on PATH."""
    folder = shell.home.root / "bin"
    install(folder, "claude", ClaudeStore().program.flags)
    # Without `app-server`: a copy is then written by prong.
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return folder


def fork(shell: Shell, *words: str) -> dict[str, Any]:
    """What `prong fork --json` says was made."""
    return shell.json("fork", *words)["fork"]


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_bytes().split(b"\n") if line]
