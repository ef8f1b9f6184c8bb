"""Nothing holds up the event loop: what takes time is done on threads."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import API, Shell
from tests.interrupts import unmeasured

ROOT = Path(__file__).parents[2]
LIMIT = 0.05
"""Seconds of CPU that one step of the loop may take, once the first frame is drawn."""
_ROUNDS = 5
"""A step that takes long for reasons of its own does so in every one of them."""


@pytest.fixture
def large(samples: Shell) -> Shell:
    """One of the sessions has 3,000 more messages, some of them long."""
    path = next(samples.home.claude.rglob(f"{API}.jsonl"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    last = next(one for one in reversed(lines) if one["type"] == "assistant" and "uuid" in one)
    with path.open("a") as file:
        parent = last["uuid"]
        for number in range(3_000):
            id_ = f"00000000-0000-4000-8000-{number:012d}"
            text = f"step {number}\n" + "a long line of words that says little\n" * 6
            message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
            line = {**last, "uuid": id_, "parentUuid": parent, "message": message}
            file.write(json.dumps(line) + "\n")
            parent = id_
    return samples


def story() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.tui.loop_story"],
        env={**unmeasured(os.environ), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_step_takes_long(large: Shell) -> None:
    best: dict[str, float] = {}
    slow: dict[str, float] = {}
    for _ in range(_ROUNDS):
        told = story()
        assert told["threads"]
        assert "MainThread" not in told["threads"], "an application was used in the event loop"
        for doing, seconds in told["longest"].items():
            best[doing] = min(best.get(doing, seconds), seconds / told["slowness"])
        slow = {doing: took for doing, took in best.items() if took > LIMIT and doing != "start"}
        if not slow:
            return
    raise AssertionError(slow)
