"""Three sessions that `claude_agent_sdk.fork_session` gets wrong, and that we get right.

Both forks are resumed by the real Claude Code; what it then sends to the model is the proof. The
SDK gets the whole session, so that nothing depends on how it understands a place in it.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.drivers.requests import Item
from tests.e2e.fidelity.compare import ClaudeBench
from tests.e2e.labs.cache import ScenarioCache
from tests.e2e.scenario import PROBE

# In a process of its own: it finds the sessions by HOME.
SDK_FORK = """
import sys
from claude_agent_sdk import fork_session
print(fork_session(sys.argv[1], directory=sys.argv[2]).session_id)
"""


pytestmark = pytest.mark.skipif(
    find_spec("claude_agent_sdk") is None, reason="claude-agent-sdk is not installed"
)


def ours(bench: ClaudeBench) -> list[Item]:
    """What the model gets from our fork at the last turn."""
    verdict = bench.verdict(bench.at(bench.native.conversation.turns[-1]))
    assert verdict.is_faithful, str(verdict)
    assert verdict.used == ()
    return verdict.sent[:-1]


def theirs(bench: ClaudeBench) -> list[Item]:
    """What it gets from the SDK's fork."""
    done = subprocess.run(
        [sys.executable, "-c", SDK_FORK, bench.session.id, str(bench.scenario.cwd)],
        env=bench.cli.env(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    fork = done.stdout.strip()
    run = bench.cli.run(PROBE, bench.scenario.cwd, resume=fork, persist=False)
    assert run.code == 0, (run.raw, run.stderr)
    return bench.sent_by(fork)[:-1]


def prompts(items: list[Item]) -> list[str]:
    return [item.text for item in items if item.role == "user"]


def test_a_line_separator_in_a_prompt_ends_no_line(claude_sessions: ScenarioCache) -> None:
    with ClaudeBench(claude_sessions.get("line_separators")) as bench:
        assert prompts(ours(bench)) == ["alpha\u2028one\u0085end", "beta\u2029two", "gamma three"]
        # It takes the prompt for two broken lines and leaves them out without a word.
        assert prompts(theirs(bench)) == ["gamma three"]


def test_an_abandoned_turn_stays_abandoned(claude_sessions: ScenarioCache) -> None:
    with ClaudeBench(claude_sessions.get("rewind_by_program")) as bench:
        assert prompts(ours(bench)) == ["alpha one"]
        # It revives what the person took back.
        assert prompts(theirs(bench)) == ["alpha one", "beta two", "gamma three"]


def test_what_a_compaction_preserved_is_still_there(claude_sessions: ScenarioCache) -> None:
    with ClaudeBench(claude_sessions.get("compact_then_turns")) as bench:
        preserved = Item("assistant", "ECHO: gamma three")
        assert preserved in ours(bench)
        assert preserved not in theirs(bench)
