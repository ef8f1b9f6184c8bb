"""The list of tools: what a client is told before it calls any."""

import json
from typing import Any

import pytest

from prong.mcp.tools import TOOLS
from tests.capabilities import CAPABILITIES
from tests.mcp.agent import Agent, in_memory

READING = {
    "find_sessions",
    "read_session",
    "list_turns",
    "list_workers",
    "worker_status",
    "wait_workers",
    "prong_doctor",
}
WRITING = {
    "smart_fork",
    "fork_session",
    "spawn_workers",
    "send_to_worker",
    "clone_worker",
    "stop_worker",
}


def test_every_tool_is_in_the_table_of_capabilities() -> None:
    listed = {one.tool for one in CAPABILITIES if isinstance(one.tool, str)}
    assert listed == READING | WRITING


def test_all_tools_are_there(agent: Agent) -> None:
    assert set(agent.tools()) == READING | WRITING


@pytest.mark.usefixtures("shell")
def test_read_only_leaves_out_every_tool_that_writes() -> None:
    with in_memory(read_only=True) as agent:
        assert set(agent.tools()) == READING
        assert agent.problem("stop_worker", name="calm-otter")["code"] == "not_found"


@pytest.mark.parametrize("name", [tool.name for tool in TOOLS])
def test_every_tool_is_described(agent: Agent, name: str) -> None:
    tool = agent.tools()[name]
    assert tool.title
    assert tool.description
    assert tool.input_schema["type"] == "object"
    assert tool.input_schema["additionalProperties"] is False
    assert tool.output_schema is None, "an agent pays for it; the reference has the fields"
    # No agent has to follow a reference, or to know of an argument of two types.
    assert "$ref" not in json.dumps(tool.input_schema)
    assert all("type" in one for one in arguments(tool.input_schema) if "anyOf" not in one)
    assert all(one["description"] for one in arguments(tool.input_schema))


def arguments(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found = list(schema["properties"].values())
    inner = [one.get("items", one) for one in found]
    return found + [more for one in inner if "properties" in one for more in arguments(one)]


@pytest.mark.parametrize("name", sorted(READING | WRITING))
def test_hints_tell_what_a_tool_does(agent: Agent, name: str) -> None:
    tool = agent.tools()[name]
    assert tool.annotations is not None
    assert tool.annotations.read_only_hint is (name in READING)
    assert tool.annotations.destructive_hint is (name == "stop_worker")
    assert ("dry_run" in tool.input_schema["properties"]) is (name in WRITING)


def test_claude_code_shows_one_tool_from_the_start(agent: Agent) -> None:
    """The others are found by it: Claude Code hides those of servers behind a search."""
    shown = [name for name, tool in agent.tools().items() if tool.meta]
    assert shown == ["smart_fork"]
    assert agent.tools()["smart_fork"].meta == {"anthropic/alwaysLoad": True}


def test_smart_fork_has_the_arguments_that_it_is_known_for(agent: Agent) -> None:
    schema = agent.tools()["smart_fork"].input_schema
    assert schema["required"] == ["intent"]
    known = {name: one.get("default") for name, one in schema["properties"].items()}
    assert known["limit"] == 5
    assert known["collection"] == "claude-sessions"
    assert known["include_snippets"] is True
    assert known["auto_fork"] is False
    assert {"project_path", "min_score", "fork_index"} <= set(known)


def test_a_worker_has_the_settings_that_it_is_known_for(agent: Agent) -> None:
    schema = agent.tools()["spawn_workers"].input_schema
    worker = schema["properties"]["workers"]["items"]
    assert set(worker["properties"]) >= {
        "project_path",
        "agent_type",
        "name",
        "badge",
        "issue_id",
        "prompt",
        "skip_permissions",
        "use_worktree",
        "worktree",
        "plugin_dir",
        "resume_session_id",
        "fork_session",
        "continue_session",
        "fork_from",
    }
