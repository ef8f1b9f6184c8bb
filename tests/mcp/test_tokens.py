"""What an agent pays: in each session for the list of tools, and for each answer."""

import pytest

from prong.testing.home import IsolatedHome
from tests.cli.shell import Shell
from tests.mcp.agent import Agent
from tests.mcp.tokens import tokens

TOOLS = 6_000
ANSWER = 1_000


def test_the_list_of_tools(agent: Agent) -> None:
    listed = [
        one.model_dump(by_alias=True, exclude_none=True, mode="json")
        for one in agent.tools().values()
    ]
    assert tokens(listed) <= TOOLS


@pytest.mark.parametrize(
    ("words", "intent"),
    [
        (
            "Add rate limiting to the public API, a sliding window for each of the clients. ",
            "rate limiting with a sliding window",
        ),
        (
            "公開APIにレート制限を追加し、各クライアントごとにスライディングウィンドウを使う。",
            "レート制限 スライディングウィンドウ",
        ),
    ],
    ids=["English", "Japanese"],
)
def test_a_search_with_five_results(
    shell: Shell, agent: Agent, isolated_home: IsolatedHome, words: str, intent: str
) -> None:
    folder = isolated_home.projects / "shop" / "services" / "public-api"
    folder.mkdir(parents=True)
    for number in range(7):
        sample = shell.session(number + 1, cwd=str(folder))
        for turn in range(3):
            sample.prompt(f"{number} {turn}: {words * 20}")
            sample.answer(f"The limiter of attempt {number} counts in a window. {words * 20}")
        sample.write(shell.home.claude)
    found = agent.ok("smart_fork", intent=intent)
    assert len(found["results"]) == 5
    for one in found["results"]:
        # The folders of tests are longer than those of people.
        one["working_directory"] = "/home/ada/projects/shop/services/public-api"
    assert tokens(found) <= ANSWER, found


def test_an_answer_has_no_empty_fields(samples: Shell, agent: Agent) -> None:
    found = agent.ok("smart_fork", intent="rate limiting for the public API")
    empty: tuple[object, ...] = (None, "", [], {})
    for one in found["results"]:
        assert [name for name, value in one.items() if value in empty] == []
    assert None not in found.values()
    assert (
        agent.ok("smart_fork", intent="rate limiting", agent="codex", since="1m")["results"] == []
    )


def test_each_session_is_found_once_with_its_best_turn(shell: Shell, agent: Agent) -> None:
    sample = shell.session(1, cwd=str(shell.home.projects))
    for prompt in ("write a parser", "rate limiting", "rate limiting for the public API"):
        sample.prompt(prompt)
        sample.answer(f"Done: {prompt}.")
    sample.write(shell.home.claude)
    found = agent.ok("smart_fork", intent="rate limiting for the public API")["results"]
    assert [one["turn"] for one in found] == [3]
