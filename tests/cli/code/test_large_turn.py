"""A turn that changed very many files: kept by the hook and by hand, or said to be missing."""

import subprocess
from pathlib import Path

import pytest

from prong.hook import spool
from tests.cli.shell import Shell
from tests.samples.claude import ClaudeSample
from tests.unit.agents.stores import START, uuid
from tests.unit.hook.hook_agent import Agent, prompt_id

MANY = 60_000


@pytest.fixture
def agent(shell: Shell) -> Agent:
    return Agent(shell.home, shell.home.project("shop"))


def write_many(folder: Path) -> None:
    for number in range(MANY):
        if number % 1000 == 0:
            (folder / f"d{number}").mkdir()
        (folder / f"d{number - number % 1000}/{number}.txt").write_text(f"{number}\n")


def session(agent: Agent) -> tuple[ClaudeSample, str, Path]:
    """A session with a turn that has ended."""
    sample = ClaudeSample(uuid(1), str(agent.project), START)
    turn = sample.prompt("work")
    sample.answer("Done.")
    return sample, turn, sample.write(agent.home.claude)


def count(folder: Path, commit: str) -> int:
    words = ["git", "ls-tree", "-r", "--name-only", commit]
    return subprocess.run(words, cwd=folder, check=True, capture_output=True).stdout.count(b"\n")


def leftovers(folder: Path) -> list[Path]:
    git = folder / ".git"
    return [
        *git.glob("objects/**/tmp_*"),
        *git.glob("**/fast_import_crash_*"),
        *git.glob("prong/take-*"),
    ]


def test_60_000_files(agent: Agent, shell: Shell) -> None:
    sample, turn, path = session(agent)
    write_many(agent.project)
    agent.env = {"PRONG_HOOK_SECONDS": "50"}  # as long as a slow machine may need
    told = agent.claude("Stop", path, prompt_id=prompt_id(sample))
    assert (told["degraded"], told["missing"]) == (None, None)
    kept = agent.snapshots()[turn]
    assert (kept.degraded, kept.left_out) == (None, ())
    assert count(agent.project, kept.commit) == MANY + 1
    (agent.project / "more.txt").write_text("more\n")
    made = shell.json("snapshot", uuid(1), "--again")["snapshot"]
    assert made["degraded"] is None
    assert count(agent.project, made["commit"]) == MANY + 2
    assert leftovers(agent.project) == []


def test_no_time_to_write_them(agent: Agent, shell: Shell) -> None:
    """The line in the spool says what is missing and why, and the next prompt takes it."""
    sample, turn, path = session(agent)
    (agent.project / "a.txt").write_text("one")
    slow = agent.home.root / "slow"
    slow.mkdir()
    (slow / "git").write_text(
        '#!/bin/sh\nfor word; do [ "$word" = fast-import ] && exec sleep 300; done\n'
        'PATH=/usr/local/bin:/usr/bin:/bin exec git "$@"\n'
    )
    (slow / "git").chmod(0o755)
    agent.env = {"PATH": f"{slow}:/usr/bin:/bin", "PRONG_HOOK_SECONDS": "3"}
    told = agent.claude("Stop", path, prompt_id=prompt_id(sample))
    assert told["snapshot"] is None
    assert told["missing"] == turn
    assert "not enough time" in told["degraded"]
    assert told["state"] == "idle"
    assert agent.snapshots() == {}
    assert leftovers(agent.project) == []
    agent.env = {"PRONG_HOOK_SECONDS": "50"}
    told = agent.claude("UserPromptSubmit", path, prompt_id="next")
    assert (told["snapshot"]["turn"], told["snapshot"]["late"]) == (turn, True)
    assert (told["degraded"], told["missing"]) == (None, None)
    assert agent.kept(turn, "a.txt") == "one"
    assert len(spool.waiting()) == 2
