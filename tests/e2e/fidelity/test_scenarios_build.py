"""Each scenario builder works, and the session file shows the feature it is named for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.drivers.claude_cli import read_lines
from tests.drivers.requests import anthropic_items, openai_items
from tests.e2e.fidelity.pictures import BLUE, RED
from tests.e2e.labs import claude_scenarios, codex_scenarios
from tests.e2e.labs.cache import ScenarioCache
from tests.e2e.scenario import Scenario

Line = dict[str, Any]
Check = Callable[[Scenario], bool]


def lines(scenario: Scenario) -> list[Line]:
    return read_lines(scenario.path)


def has(**fields: Any) -> Check:
    """Some line of the session file has these fields."""
    return lambda scenario: any(
        all(line.get(key) == value for key, value in fields.items()) for line in lines(scenario)
    )


def says(text: str, times: int = 1) -> Check:
    """So many lines of the session file hold the text."""
    return lambda scenario: scenario.path.read_bytes().count(text.encode()) >= times


def both(*checks: Check) -> Check:
    return lambda scenario: all(check(scenario) for check in checks)


def own_id(scenario: Scenario) -> bool:
    return says(f"two of {scenario.session_id}")(scenario)


# -- Claude Code -----------------------------------------------------------------------------------


def users(scenario: Scenario) -> list[Line]:
    return [line for line in lines(scenario) if line["type"] == "user"]


def siblings(count: int) -> Check:
    """So many prompts hang off one line."""

    def check(scenario: Scenario) -> bool:
        prompts = [line for line in users(scenario) if "turnPosition" in line]
        return count in Counter(line["parentUuid"] for line in prompts).values()

    return check


def parallel(count: int) -> Check:
    """So many tool calls are in one message."""

    def check(scenario: Scenario) -> bool:
        calls = Counter[str]()
        for line in lines(scenario):
            if line["type"] == "assistant" and line["message"]["content"][0]["type"] == "tool_use":
                calls[line["message"]["id"]] += 1
        return count in calls.values()

    return check


def interleaved(scenario: Scenario) -> bool:
    """A result stands between two calls of one message, and two results in another order."""
    ids = [
        (line["type"], block.get("id") or block.get("tool_use_id"))
        for line in lines(scenario)
        if line["type"] in ("user", "assistant") and isinstance(line["message"]["content"], list)
        for block in line["message"]["content"]
        if block["type"] in ("tool_use", "tool_result")
    ]
    first, second, third = dict.fromkeys(id_ for _, id_ in ids)
    return ids == [
        ("assistant", first),
        ("user", first),
        ("assistant", second),
        ("assistant", third),
        ("user", third),
        ("user", second),
    ]


def models(count: int) -> Check:
    """How many models gave answers."""
    return lambda scenario: (
        len({line["message"]["model"] for line in lines(scenario) if line["type"] == "assistant"})
        == count
    )


def boundaries(count: int, **metadata: Any) -> Check:
    """So many compactions, with such metadata."""

    def check(scenario: Scenario) -> bool:
        found = [
            line["compactMetadata"]
            for line in lines(scenario)
            if line.get("subtype") == "compact_boundary"
        ]
        wanted = all(item.get(key) == val for item in found for key, val in metadata.items())
        return len(found) == count and wanted

    return check


def attachment(kind: str) -> Check:
    return lambda scenario: any(
        line["type"] == "attachment" and line["attachment"]["type"] == kind
        for line in lines(scenario)
    )


def one_root(scenario: Scenario) -> bool:
    roots = [line for line in users(scenario) if line["parentUuid"] is None]
    return len(roots) == 1


def subagent_file(scenario: Scenario) -> bool:
    return any((scenario.path.parent / scenario.session_id / "subagents").glob("agent-*.jsonl"))


CLAUDE: dict[str, Check] = {
    "tool_calls": says('"name":"Write"'),
    "parallel_tools": both(parallel(3), says('"is_error":true')),
    "parallel_twice": parallel(2),
    "thinking": says('"type":"thinking"', 3),
    "thinking_withheld": says('"thinking":""', 3),
    "thinking_redacted": says('"type":"redacted_thinking"', 2),
    "model_switch": models(3),
    "own_id": own_id,
    "big_output": lambda scenario: any(scenario.root.rglob("tool-results/*.txt")),
    "headless": has(entrypoint="sdk-cli"),
    "line_separators": both(says("\u2028"), says("\u0085")),
    "api_failure": has(isApiErrorMessage=True),
    "api_overloaded": says("at last"),
    "api_failure_headless": has(isApiErrorMessage=True),
    "api_failure_last": has(isApiErrorMessage=True),
    "interrupt_text": says("[Request interrupted by user]"),
    "interrupt_text_last": says("[Request interrupted by user]"),
    "interrupt_early": siblings(2),
    "interrupt_early_last": says("beta two"),
    "interrupt_tool": has(toolDenialKind="user-rejected"),
    "interrupt_parallel": both(parallel(2), has(toolDenialKind="user-rejected")),
    "killed_in_tool": both(parallel(2), lambda scenario: lines(scenario)[-1]["type"] != "system"),
    "killed_in_answer": says("beta two"),
    "rewind": both(siblings(2), has(explicit=True)),
    "rewind_to_start": lambda scenario: not one_root(scenario),
    "rewind_twice": siblings(3),
    "rewind_left": lambda scenario: not has(explicit=True)(scenario),
    "rewind_by_program": both(has(rewound=True), says("gamma three")),
    "rewind_to_parallel": both(siblings(2), parallel(2)),
    "compact": boundaries(1, trigger="manual"),
    "compact_then_turns": boundaries(1, trigger="manual"),
    "compact_twice": boundaries(2, trigger="manual"),
    "compact_with_tools": both(boundaries(1), parallel(2)),
    "compact_auto": boundaries(1, trigger="auto"),
    "compact_auto_midturn": boundaries(1, trigger="auto"),
    "summarize_from": both(boundaries(1), has(isCompactSummary=True)),
    "summarize_up_to": both(boundaries(1), has(isCompactSummary=True)),
    "rewind_after_compact": both(boundaries(1), siblings(2)),
    "branch_child": says('"forkedFrom"'),
    "branch_parent": lambda scenario: not says('"forkedFrom"')(scenario),
    "fork_flag": both(parallel(2), lambda scenario: not siblings(2)(scenario)),
    "fork_flag_interactive": says("delta four"),
    "resumed": says("delta four"),
    "resumed_at": says("gamma three"),
    "two_writers": siblings(2),
    "two_headless_writers": says("beta on the right"),
    "two_headless_writers_in_line": says("beta on the left"),
    "worktree": says(".claude/worktrees/side"),
    "fork_chain": parallel(2),
    "other_folder": says("projects/elsewhere"),
    "queued_absorbed": attachment("queued_command"),
    "queued_own_turn": has(promptSource="queued"),
    "queued_two": has(promptSource="queued"),
    "bash_mode": says("<bash-input>"),
    "bash_mode_last": says("<bash-stderr>"),
    "custom_command": has(turnCompanion=True),
    "builtin_commands": has(isDisplayOnly=True),
    "builtin_command_last": has(subtype="local_command"),
    "builtin_commands_last": both(says("## Context Usage"), has(subtype="local_command")),
    "clear": says("<command-name>/clear"),
    "file_mention": attachment("file"),
    "staggered_tools": both(parallel(3), interleaved),
    "background_bash": has(turnOrigin="task_notification"),
    "image_prompt": says(RED.base64),
    "image_result": both(says(RED.base64), says(BLUE.base64)),
    "mcp_tools": both(says("mcp__tiny__lookup"), says(BLUE.base64)),
    "plan_mode": says("ExitPlanMode"),
    "subagent_foreground": subagent_file,
    "subagent_with_tool": both(subagent_file, has(turnOrigin="task_notification")),
    "subagent_background": both(subagent_file, has(turnOrigin="task_notification")),
    "hooks": both(attachment("hook_success"), boundaries(1)),
    "hook_blocks_stop": says("Stop hook feedback"),
}


@pytest.mark.parametrize("name", claude_scenarios.BUILDERS)
def test_claude_session(name: str, claude_sessions: ScenarioCache) -> None:
    scenario = claude_sessions.get(name)
    assert CLAUDE[name](scenario)
    items = anthropic_items(scenario.resume_request)
    assert (items[-1].role, items[-1].text) == ("user", scenario.probe)
    assert scenario.probe.encode() not in scenario.path.read_bytes()
    assert scenario.native_requests


@pytest.mark.parametrize("name", ["parallel_tools", "rewind", "compact_then_turns"])
def test_an_interactive_resume_sends_the_same(name: str, claude_sessions: ScenarioCache) -> None:
    scenario = claude_sessions.get(name)
    sent = claude_scenarios.probe_interactively(scenario.root.parent, scenario.session_id)
    assert anthropic_items(sent) == anthropic_items(scenario.resume_request)


# -- Codex -----------------------------------------------------------------------------------------


def payloads(scenario: Scenario) -> list[dict[str, Any]]:
    return [line["payload"] for line in lines(scenario)]


def meta(scenario: Scenario) -> dict[str, Any]:
    """The session_meta of the live file."""
    return payloads(scenario)[0]


def files(count: int) -> Check:
    """The copy holds so many rollouts."""
    return lambda scenario: len(list(scenario.root.rglob("rollout-*.jsonl"))) == count


def segment(scenario: Scenario) -> bool:
    """The live file is a later segment of its thread."""
    return f"{scenario.session_id}_" in scenario.path.name


def based(scenario: Scenario) -> bool:
    """The live file begins in another one."""
    return "history_base" in meta(scenario)


def forked(scenario: Scenario) -> bool:
    return based(scenario) and "forked_from_id" in meta(scenario)


def compactions(count: int) -> Check:
    return lambda scenario: sum(line["type"] == "compacted" for line in lines(scenario)) == count


def event(kind: str) -> Check:
    return lambda scenario: any(payload.get("type") == kind for payload in payloads(scenario))


def item(kind: str) -> Check:
    """An item_completed of this kind is in the live file."""
    return lambda scenario: any(
        payload.get("item", {}).get("type") == kind for payload in payloads(scenario)
    )


def failed(scenario: Scenario) -> bool:
    return any(p.get("type") == "task_complete" and p.get("error") for p in payloads(scenario))


def prompts_of_a_turn(count: int) -> Check:
    """One turn has so many user messages."""

    def check(scenario: Scenario) -> bool:
        turns = Counter(
            payload["turn_id"]
            for payload in payloads(scenario)
            if payload.get("item", {}).get("type") == "UserMessage"
        )
        return count in turns.values()

    return check


CODEX: dict[str, Check] = {
    "tool_calls": both(item("CommandExecution"), says('"exit_code":3')),
    "parallel_tools": both(event("reasoning"), says('"exit_code":3')),
    "patch": item("FileChange"),
    "reasoning": event("reasoning"),
    "reasoning_encrypted": says("c2VjcmV0IHR3bw=="),
    "model_switch": says('"model":"other-model"'),
    "own_id": own_id,
    "image_prompt": both(says(RED.base64), says(BLUE.base64)),
    "image_result": both(says(RED.base64), says(BLUE.base64)),
    "mcp_tools": both(says("mcp__tiny"), says("found it")),
    "line_separators": both(says("\u2028"), says("\u0085")),
    "terminal_turns": lambda scenario: meta(scenario)["source"] == "cli",
    "failed_turn": failed,
    "failed_after_tool": both(failed, item("CommandExecution")),
    "changed_cwd": says("<environment_context>", 2),
    "fork_at_turn": forked,
    "fork_without_turn": both(forked, lambda scenario: not event("task_started")(scenario)),
    "fork_whole": both(forked, files(2)),
    "fork_of_fork": both(forked, files(3)),
    "fork_chain": both(forked, files(4)),
    "fork_of_inherited": both(forked, files(3)),
    "fork_with_tools": forked,
    "fork_while_busy": both(forked, event("turn_aborted")),
    "rewind": both(segment, based),
    "revert": both(segment, based, files(2)),
    "revert_only": both(segment, based),
    "revert_all": both(segment, lambda scenario: not based(scenario)),
    "revert_twice": both(segment, files(3)),
    "fork_of_reverted": both(forked, files(3)),
    "revert_of_fork": both(segment, forked, files(3)),
    "compact": compactions(1),
    "compact_then_turns": compactions(1),
    "compact_twice": compactions(2),
    "compact_auto": compactions(1),
    "fork_before_compact": both(forked, compactions(0)),
    "fork_after_compact": both(forked, compactions(0)),
    "revert_before_compact": both(segment, compactions(0)),
    "interrupt": event("turn_aborted"),
    "interrupt_last": both(event("turn_aborted"), says("aborted by user")),
    "interrupt_terminal": event("turn_aborted"),
    "killed_in_tool": lambda scenario: not event("function_call_output")(scenario),
    "steered": prompts_of_a_turn(2),
    "subagent": both(files(2), says("<subagent_notification>")),
    "subagent_late": both(files(2), says("<subagent_notification>")),
    "user_shell": says("<user_shell_command>"),
    "queued": prompts_of_a_turn(2),
}


@pytest.mark.parametrize("name", codex_scenarios.BUILDERS)
def test_codex_thread(name: str, codex_threads: ScenarioCache) -> None:
    scenario = codex_threads.get(name)
    assert CODEX[name](scenario)
    items = openai_items(scenario.resume_request)
    assert (items[-1].role, items[-1].text) == ("user", scenario.probe)
    assert scenario.probe.encode() not in scenario.path.read_bytes()
    assert scenario.native_requests


def test_every_builder_has_its_check() -> None:
    assert set(CLAUDE) == set(claude_scenarios.BUILDERS)
    assert set(CODEX) == set(codex_scenarios.BUILDERS)
