"""docs/guides/fork.md shows what the commands really print, and its Python runs."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.shell import Shell

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "fork.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```\n\$ prong (.*)\n((?:.*\n)*?)```$", PAGE, flags=re.MULTILINE)
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def comparable(text: str, home: Path) -> list[str]:
    """Without what differs from run to run: ids, ages, and where the home is."""
    for name in (str(home / "projects"), str(home), "~/projects", "~"):
        text = text.replace(name, "/home/ada")
    text = text.replace(re.sub(r"[^A-Za-z0-9]", "-", str(home / "projects")), "-home-ada")
    text = re.sub(r"claude:[0-9a-f]{8}\b", "claude:<short>", UUID.sub("<id>", text))
    return [" ".join(line.split()) for line in re.sub(r"\b(now|\d+h ago)", "", text).splitlines()]


def make_busy(shell: Shell, session: str) -> None:
    """As if the agent were at work on it, in this very process."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    process = {
        "pid": os.getpid(),
        "sessionId": session,
        "status": "busy",
        "procStart": fields[19],
    }
    path = next(shell.home.claude.rglob(f"{session}.jsonl"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    opener = next(line for line in reversed(lines) if "turnPosition" in line)
    last = next(line for line in reversed(lines) if "uuid" in line)
    prompt = {**opener, "uuid": session, "parentUuid": last["uuid"]}
    prompt["turnPosition"] = {"promptIndex": 99, "turnIndex": 99}
    with path.open("a") as file:
        file.write(json.dumps(prompt) + "\n")
    folder = shell.home.claude / "sessions"
    folder.mkdir()
    (folder / f"{os.getpid()}.json").write_text(json.dumps(process))


def test_the_guide_shows_what_the_commands_print(
    shop: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.home.projects / "shop")
    assert len(COMMANDS) == 5
    for line, shown in COMMANDS:
        if "at work on" in shown:
            make_busy(shop, UUID.search(shown)[0])  # type: ignore[index]
        result = shop.run(*shlex.split(line), COLUMNS="100")
        printed = comparable(result.stdout + result.stderr, shop.home.root)
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
