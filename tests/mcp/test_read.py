"""find_sessions without words, read_session, list_turns, prong_doctor."""

from tests.cli.shell import API, Shell
from tests.mcp.agent import Agent


def test_the_newest_sessions(samples: Shell, agent: Agent) -> None:
    found = agent.ok("find_sessions", limit=2)
    assert found["results"] == []
    assert len(found["sessions"]) == 2
    assert found["total"] > 2
    times = [one["updated"] for one in found["sessions"]]
    assert times == sorted(times, reverse=True)
    codex = agent.ok("find_sessions", agent="codex")["sessions"]
    assert {one["agent"] for one in codex} == {"codex"}
    assert agent.ok("find_sessions", project_path="/nowhere")["sessions"] == []
    assert agent.ok("find_sessions", since="2099-01-01")["sessions"] == []
    assert agent.problem("find_sessions", since="soon")["code"] == "usage"


def test_a_search_has_one_result_for_a_session(samples: Shell, agent: Agent) -> None:
    found = agent.ok("find_sessions", intent="rate limiting the public API")
    ids = [one["session_id"] for one in found["results"]]
    assert ids[0] == API
    assert len(set(ids)) == len(ids)
    assert found["sessions"] == []


def test_turns_in_pages(samples: Shell, agent: Agent) -> None:
    whole = agent.ok("list_turns", session=API)
    assert whole["session"]["ref"] == f"claude:{API}"
    assert whole["total"] == len(whole["turns"]) > 2
    assert whole["next_turn"] is None
    first = agent.ok("list_turns", session=API, limit=2)
    assert [one["index"] for one in first["turns"]] == [1, 2]
    rest = agent.ok("list_turns", session=API, from_turn=first["next_turn"])
    assert first["turns"] + rest["turns"] == whole["turns"]


def test_a_session_in_pages(samples: Shell, agent: Agent) -> None:
    whole = agent.ok("read_session", session=API, max_tokens=50_000)
    assert whole["next"] is None
    read: list[dict[str, object]] = []
    page: str | None = None
    while True:
        part = agent.ok("read_session", session=API, max_tokens=200, page=page)
        assert part["tokens"] <= 200
        read += part["messages"]
        page = part["next"]
        if page is None:
            break
    assert [(one["turn"], one["role"]) for one in read] == [
        (one["turn"], one["role"]) for one in whole["messages"]
    ]
    assert agent.problem("read_session", session=API, page="9999")["code"] == "not_found"
    assert agent.problem("read_session", session=API, page="-1; rm")["code"] == "usage"


def test_some_turns_of_a_session(samples: Shell, agent: Agent) -> None:
    second = agent.ok("read_session", session=API, from_turn=2, to_turn=2)["messages"]
    assert {one["turn"] for one in second} == {2}
    assert agent.ok("read_session", session=f"{API}@2")["messages"] == second
    assert agent.problem("read_session", session=f"{API}@0")["code"] == "usage"
    assert agent.problem("read_session", session=f"{API}@2", from_turn=2)["code"] == "usage"


def test_a_long_message_is_cut_and_secrets_are_masked(shell: Shell, agent: Agent) -> None:
    secret = "ghp_" + "a1B2" * 9
    id_ = shell.simple(1, f"token {secret} " + "long " * 5_000)
    (prompt, _) = agent.ok("read_session", session=id_, max_tokens=50_000)["messages"]
    assert secret not in prompt["text"]
    (cut,) = agent.ok("read_session", session=id_, max_tokens=300)["messages"]
    assert cut["cut"] is True
    assert "left out" in cut["text"]
    assert len(cut["text"]) < 1_400
    turn = agent.ok("list_turns", session=id_)["turns"][0]
    assert secret not in turn["prompt"]


def test_what_tools_gave_back_on_request(samples: Shell, agent: Agent) -> None:
    short = agent.ok("read_session", session=API)["messages"]
    full = agent.ok("read_session", session=API, tool_output=True)["messages"]
    tools = [one for one in short if one["tool"]]
    assert tools
    assert any(one["cut"] for one in tools)
    assert sum(len(one["text"]) for one in full) > sum(len(one["text"]) for one in short)


def test_the_doctor(samples: Shell, agent: Agent) -> None:
    found = agent.ok("prong_doctor")
    assert {"prong", "claude", "codex"} <= {one["topic"] for one in found["findings"]}
    assert found["version"]
