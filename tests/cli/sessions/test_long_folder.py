"""A session whose recorded folder has a name too long for the system."""

import pytest

from tests.cli.shell import Shell
from tests.mcp.agent import in_memory
from tests.samples.claude import ClaudeSample
from tests.unit.agents.stores import START, uuid

LONG = "/srv/" + "x" * 5000
SESSION = f"claude:{uuid(7)}"


@pytest.fixture
def session(shell: Shell) -> str:
    sample = ClaudeSample(uuid(7), LONG, START)
    sample.prompt("count the words")
    sample.answer("There are twelve.")
    sample.write(shell.home.claude)
    return SESSION


@pytest.mark.parametrize("words", [["list", "--all"], ["find", "words"], ["turns"], ["show"]])
def test_it_is_read_like_any_other(shell: Shell, session: str, words: list[str]) -> None:
    takes_session = words[0] in {"turns", "show"}
    shell.ok(*words, *([session] if takes_session else []))


@pytest.mark.parametrize(
    "words",
    [
        *(["fork"], ["fork", "--dry-run"], ["fork", "--code", "none"], ["fork", "--code", "now"]),
        *(["resume"], ["clone"], ["diff"], ["snapshot"], ["restart"], ["export", "--into", "out"]),
    ],
)
def test_its_folder_is_missing(shell: Shell, session: str, words: list[str]) -> None:
    result = shell.run(words[0], session, *words[1:])
    assert result.exit_code in {2, 3}, result.output
    assert "Traceback" not in result.stderr


def test_it_is_forked_into_another_folder(shell: Shell, session: str) -> None:
    shell.ok("fork", session, "--code", "none", "--into", str(shell.home.root))


def test_an_agent_is_told_the_same(shell: Shell, session: str) -> None:
    with in_memory() as agent:
        assert agent.problem("fork_session", session=session)["code"] == "not_found"
        agent.ok("read_session", session=session)
        agent.ok("smart_fork", intent="count the words")
        agent.ok("prong_doctor")
