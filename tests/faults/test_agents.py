"""The forks of Codex, and from one agent into the other, are killed at each of their steps."""

import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from tests.cli.shell import API, SNIFFER, Shell
from tests.faults.children import Children
from tests.faults.tree import Tree, tree_of

FORKS = [
    pytest.param(f"codex:{SNIFFER}@1", "codex", id="codex"),
    pytest.param(f"claude:{API}@2", "codex", id="claude to codex"),
    pytest.param(f"codex:{SNIFFER}@1", "claude", id="codex to claude"),
]
NEW = {
    "claude": "00000009-0000-4000-8000-000000000009",
    "codex": "01a1e5b2-0000-7000-8000-000000000009",
}


class Samples:
    """The sample sessions of both agents, and an empty folder to fork them into."""

    def __init__(self, shell: Shell) -> None:
        shop = shell.home.projects / "shop"
        self.into = shell.home.projects / "into"
        shop.mkdir()
        self.into.mkdir()
        ClaudeStore([shell.home.claude]).write_samples(str(shop), datetime.now(UTC))
        CodexStore([shell.home.codex]).write_samples(str(shop), datetime.now(UTC))
        self.shell = shell

    def tree(self) -> Tree:
        return tree_of(self.shell.home.root)

    def prompts(self, ref: str) -> list[str]:
        return [turn["prompt"] for turn in self.shell.json("turns", ref)["turns"]]


@pytest.fixture
def samples(shell: Shell) -> Samples:
    return Samples(shell)


def words_of(samples: Samples, point: str, agent: str) -> list[str]:
    into = ["--id", NEW[agent], "--into", str(samples.into)]
    return ["fork", point, "--agent", agent, *into, "--json"]


@pytest.mark.parametrize("at", ["make", "write", "sync", "publish", "remove"])
@pytest.mark.parametrize(("point", "agent"), FORKS)
def test_killed(samples: Samples, nursery: Children, point: str, agent: str, at: str) -> None:
    ref, _, turn = point.partition("@")
    prompts = samples.prompts(ref)[: int(turn)]
    new = NEW[agent]
    words = words_of(samples, point, agent)
    before = samples.tree()
    ended = nursery.run(*words, at=at, signal=signal.SIGKILL)
    assert ended.signal == signal.SIGKILL, ended.stderr
    samples.shell.ok("doctor", "--fix")
    after = samples.tree()
    if at != "remove":
        assert after == before
        assert samples.shell.run(*words).exit_code == 0
        after = samples.tree()
    made = [path for path, what in after.items() if path not in before and what is not None]
    assert len(made) == 1
    assert new in Path(made[0]).name
    assert {path: after[path] for path in before} == before
    assert samples.prompts(f"{agent}:{new}") == prompts


@pytest.mark.parametrize(("point", "agent"), FORKS)
def test_the_source_is_emptied(samples: Samples, nursery: Children, point: str, agent: str) -> None:
    before = samples.tree()
    child = nursery.start(*words_of(samples, point, agent), at=f"write:{NEW[agent]}.jsonl")
    source = Path(samples.shell.json("show", point)["session"]["path"])
    source.write_bytes(b"")
    ended = child.ended()
    assert ended.problem["code"] in ("not_found", "corrupt")
    assert set(samples.tree()) == set(before)
