"""docs/guides/workers.md shows what the commands really print, and its Python runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.script import say
from tests.drivers.claude_cli import ClaudeCli
from tests.e2e.workers.typed_workers import ClaudeWorkers, WorkerLab, ended

PAGE = (Path(__file__).parents[3] / "docs" / "guides" / "workers.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```\n\$ prong (.*)\n((?:.*\n)*?)```$", PAGE, flags=re.MULTILINE)
ANSWERS = (
    "The parser is in prices/parser.py: one function, parse_prices.",
    "12 tests, all green.",
    "The table is in prices/table.py; it is half as long.",
    "Both parsers agree on all samples.",
)


@pytest.fixture
def lab(
    isolated_home: IsolatedHome, fake_anthropic: FakeAnthropic, claude_cli: ClaudeCli
) -> Iterator[WorkerLab]:
    made = ClaudeWorkers(isolated_home, fake_anthropic, claude_cli)
    with ended(made):
        yield made


def comparable(text: str) -> list[str]:
    """Without what differs from run to run: ids, times, and where things lie."""
    for found, word in (
        (r"\S*/prong/worktrees/\S+", "<worktree>"),
        (r"\S*/projects/\S*\.jsonl", "<file>"),
        (r"\S*/workers/\S*\.jsonl", "<log>"),
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>"),
        (r"\b[0-9a-f]{8}\b", "<short>"),
        (r"\b[0-9a-f]{7}\b(?= \()", "<commit>"),
        (r"tmux:%\d+", "<pane>"),
        (r"\((hook|registry)\)", "(told)"),
        (r"it is h.*…", "it is …"),
    ):
        text = re.sub(found, word, text)
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_guide_shows_what_the_commands_print(lab: WorkerLab) -> None:
    lab.server.enqueue(*(say(text) for text in ANSWERS))
    assert len(COMMANDS) == 9
    for line, shown in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "prong", *shlex.split(line)],
            cwd=lab.project,
            env={**lab.environment(), "COLUMNS": "110"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr + lab.screens()
        # What was said beside the answer came before it, or behind it.
        either = (done.stdout + done.stderr, done.stderr + done.stdout)
        assert comparable(shown) in [comparable(text) for text in either], (line, either)
        if line.startswith("fork"):
            lab.wait_state("table", "idle")


def test_the_python_in_it_runs(lab: WorkerLab) -> None:
    lab.server.enqueue(say(ANSWERS[0]), say(ANSWERS[2]))
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code.replace("/home/ada/shop", str(lab.project))],
        env=lab.environment(),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr + lab.screens()
    assert done.stdout.splitlines() == [ANSWERS[0], ANSWERS[2], "1 2 parser-py", "gone"]
