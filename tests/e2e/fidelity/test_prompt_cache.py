"""A fork begins with the same bytes as Claude Code's own, so that it reads from the prompt cache.

A cached prefix is tools, then system blocks, then messages. All of these, the prompt of the fork
included, are the same in prong's fork as in a `claude --resume ID --fork-session` in place, also
when the fork runs in a new worktree. What a new folder adds stands behind the prompt.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from prong.forks.request import ForkRequest
from prong.model.forks import Code
from prong.testing.server import RequestKind
from tests.e2e.fidelity.compare import ClaudeBench
from tests.e2e.labs.cache import ScenarioCache
from tests.e2e.scenario import PROBE

NAMES = ["tool_calls", "parallel_tools", "thinking", "image_result", "compact_then_turns", "hooks"]


def uncached(value: Any) -> Any:
    """Without `cache_control`: it marks where a prefix may end and is no part of the prompt."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: uncached(part) for key, part in fields.items() if key != "cache_control"}
    if isinstance(value, list):
        return [uncached(part) for part in cast("list[Any]", value)]
    return value


def as_bytes(value: Any) -> bytes:
    return json.dumps(uncached(value), ensure_ascii=False).encode()


def in_blocks(message: dict[str, Any]) -> dict[str, Any]:
    """A message whose text is a block: so it is written where it carries `cache_control`."""
    content = message["content"]
    if isinstance(content, str):
        return message | {"content": [{"type": "text", "text": content}]}
    return message


class Prompt:
    """A request that ends in the probe, apart from what the program adds behind it."""

    def __init__(self, body: dict[str, Any]) -> None:
        messages = [in_blocks(message) for message in body["messages"]]
        (at,) = [number for number, one in enumerate(messages) if PROBE in str(one["content"])]
        self.tools = as_bytes(body["tools"])
        self.system = as_bytes(body["system"])
        self.messages = [as_bytes(one) for one in messages[: at + 1]]
        self.behind = messages[at + 1 :]
        self.model = body["model"]


def native_fork(claude: ClaudeBench) -> Prompt:
    """Claude Code's own fork of the whole session, in the session's folder."""
    id_ = claude.session.id
    run = claude.cli.run(PROBE, claude.scenario.cwd, resume=id_, fork=True, persist=False)
    assert run.code == 0, (run.raw, run.stderr)
    return prompt_of(claude, run.session_id)


def fork_of_prong(claude: ClaudeBench, options: ForkRequest) -> tuple[Prompt, Path]:
    """Our fork at the last turn; what it sends, and the folder that it runs in."""
    plan = claude.app.forks.plan(str(claude.session.ref), options)
    fork = claude.app.forks.make(plan)
    assert fork.launch is not None
    claude.run(fork)
    return prompt_of(claude, fork.child.id), Path(fork.launch.cwd)


def prompt_of(claude: ClaudeBench, session_id: str) -> Prompt:
    (request,) = [one for one in claude.requests_of(session_id) if one.kind is RequestKind.MAIN]
    return Prompt(request.body)


def same_prefix(ours: Prompt, native: Prompt) -> None:
    assert ours.model == native.model
    assert ours.tools == native.tools
    assert ours.system == native.system
    assert ours.messages == native.messages


@pytest.mark.parametrize("name", NAMES)
def test_in_the_same_folder_the_whole_prompt_is_the_same(
    name: str, claude_sessions: ScenarioCache
) -> None:
    with ClaudeBench(claude_sessions.get(name)) as claude:
        native = native_fork(claude)
        options = ForkRequest(into=claude.scenario.cwd, prompt=PROBE)
        ours, _ = fork_of_prong(claude, options)
        same_prefix(ours, native)
        assert as_bytes(ours.behind) == as_bytes(native.behind)


@pytest.mark.parametrize("name", NAMES)
def test_in_a_new_worktree_all_up_to_the_prompt_is_the_same(
    name: str, claude_sessions: ScenarioCache
) -> None:
    with ClaudeBench(claude_sessions.get(name)) as claude:
        native = native_fork(claude)
        options = ForkRequest(code=Code.HEAD, branch="cache", prompt=PROBE)
        ours, folder = fork_of_prong(claude, options)
        assert folder != claude.scenario.cwd
        same_prefix(ours, native)
        # The one thing that a new folder adds. It says where the agent is now.
        (told,) = [one for one in ours.behind if one["role"] == "system"]
        assert f"Primary working directory: {folder} (was {claude.scenario.cwd})" in str(told)
