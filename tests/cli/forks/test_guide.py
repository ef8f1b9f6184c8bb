"""docs/guides/fork.md shows what the commands really print, and its Python runs."""

import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from prong.app import App
from tests.cli.shell import Shell

PAGE = (Path(__file__).parents[3] / "docs" / "guides" / "fork.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```\n\$ prong (.*)\n((?:.*\n)*?)```$", PAGE, flags=re.MULTILINE)
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def comparable(text: str, home: Path) -> list[str]:
    """Without what differs from run to run: ids, ages, and where things lie."""
    for found, word in (
        (r"\S*/prong/worktrees/shop-\w{6}/[\w-]+", "<worktree>"),
        (rf"({re.escape(str(home))}|/home/ada|~/{home.name}|~)/", "~/"),
        (r"~/\.claude/projects/\S*", "<file>"),
        (r"\b[0-9a-f]{7}\b(?= \()", "<commit>"),
        (r"--resume \S+", "--resume <id>"),
        (UUID.pattern, "<id>"),
        (r"claude:[0-9a-f]{8}\b", "claude:<short>"),
        (r"\b(now|\d+h ago)", ""),
    ):
        text = re.sub(found, word, text)
    return [" ".join(line.split()) for line in text.splitlines()]


def make_busy(root: Path, session: str) -> None:
    """As if the agent were at work on it, in this very process."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    process = {
        "pid": os.getpid(),
        "sessionId": session,
        "status": "busy",
        "procStart": fields[19],
    }
    path = next(root.rglob(f"{session}.jsonl"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    opener = next(line for line in reversed(lines) if "turnPosition" in line)
    last = next(line for line in reversed(lines) if "uuid" in line)
    prompt = {**opener, "uuid": session, "parentUuid": last["uuid"]}
    prompt["turnPosition"] = {"promptIndex": 99, "turnIndex": 99}
    with path.open("a") as file:
        file.write(json.dumps(prompt) + "\n")
    folder = root / "sessions"
    folder.mkdir()
    (folder / f"{os.getpid()}.json").write_text(json.dumps(process))


def test_the_guide_shows_what_the_commands_print(
    shop: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = shop.home.root / "demo"
    with closing(App()) as app:
        demo = app.setup.demo(home)
    assert demo.has_code
    monkeypatch.chdir(demo.repository)
    assert len(COMMANDS) == 5
    for line, shown in COMMANDS:
        if "still working on" in shown:
            make_busy(home / ".claude", UUID.search(shown)[0])  # type: ignore[index]
        result = shop.run(*shlex.split(line), COLUMNS="100", **demo.environment)
        printed = comparable(result.stdout + result.stderr, home)
        expected = comparable(shown, Path("/nowhere"))
        assert [row[:60] for row in printed] == [row[:60] for row in expected], line


def test_the_python_in_it_runs(shop: Shell) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    into = shop.home.root / "experiment"
    into.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code.replace("/home/ada/experiment", str(into))],
        env=shop.env(),
        capture_output=True,
        text=True,
        check=True,
    )
    planned, made = done.stdout.splitlines()
    assert planned.startswith("34900 ")
    assert made.startswith("claude:")
    assert "Use a token bucket" in made
