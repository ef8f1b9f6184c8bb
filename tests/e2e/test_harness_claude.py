"""Each capability of the Claude Code harness, shown with the real program."""

from __future__ import annotations

import threading

import pytest

from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.script import Fail, Hold, Reply, Text, ToolCall, call, say
from prong.testing.server import RequestKind
from tests.drivers.claude_cli import ClaudeCli, read_lines
from tests.drivers.claude_terminal import ClaudeTerminal
from tests.drivers.requests import Item, anthropic_items


def test_a_headless_turn_is_answered_and_stored(
    claude_cli: ClaudeCli, fake_anthropic: FakeAnthropic, isolated_home: IsolatedHome
) -> None:
    cwd = isolated_home.project()
    run = claude_cli.run("hello", cwd)
    assert (run.code, run.result, run.is_error) == (0, "ECHO: hello", False)
    file = claude_cli.session_file(run.session_id)
    assert file.parent == claude_cli.project_folder(cwd)
    assert claude_cli.session_ids() == [run.session_id]
    assert [request.prompt for request in fake_anthropic.conversation_requests()] == ["hello"]


def test_tools_run_and_their_results_come_back(
    claude_cli: ClaudeCli, fake_anthropic: FakeAnthropic, isolated_home: IsolatedHome
) -> None:
    cwd = isolated_home.project()
    fake_anthropic.enqueue(
        Reply(
            Text("both"),
            ToolCall("Bash", {"command": "echo one", "description": "d"}),
            ToolCall("Bash", {"command": "exit 3", "description": "d"}),
        ),
        say("finished"),
    )
    run = claude_cli.run("go", cwd)
    assert run.result == "finished"
    items = anthropic_items(fake_anthropic.conversation_requests()[-1].body)
    assert [item.role for item in items] == [
        *("user", "assistant", "call", "call", "result", "result")
    ]
    results = {item.id: item.text for item in items if item.role == "result"}
    assert [results[item.id] for item in items if item.role == "call"] == ["one", "Exit code 3"]


def test_resume_fork_and_an_untouched_probe(
    claude_cli: ClaudeCli, fake_anthropic: FakeAnthropic, isolated_home: IsolatedHome
) -> None:
    cwd = isolated_home.project()
    first = claude_cli.run("one", cwd)
    again = claude_cli.run("two", cwd, resume=first.session_id)
    assert again.session_id == first.session_id
    before = claude_cli.session_file(first.session_id).read_bytes()
    fork = claude_cli.run("three", cwd, resume=first.session_id, fork=True)
    assert fork.session_id != first.session_id
    claude_cli.run("four", cwd, resume=first.session_id, persist=False)
    assert claude_cli.session_file(first.session_id).read_bytes() == before
    assert anthropic_items(fake_anthropic.last_prompted("four").body) == [
        Item("user", "one"),
        Item("assistant", "ECHO: one"),
        Item("user", "two"),
        Item("assistant", "ECHO: two"),
        Item("user", "four"),
    ]


def test_a_failure_is_told(
    claude_cli: ClaudeCli, fake_anthropic: FakeAnthropic, isolated_home: IsolatedHome
) -> None:
    fake_anthropic.respond = lambda _: Fail(400, "no such thing")
    run = claude_cli.run("hello", isolated_home.project())
    assert (run.code, run.is_error) == (1, True)
    assert "no such thing" in run.result


def test_a_subagents_requests_are_told_apart(
    claude_cli: ClaudeCli, fake_anthropic: FakeAnthropic, isolated_home: IsolatedHome
) -> None:
    fake_anthropic.enqueue(
        call("Agent", description="d", prompt="SUBTASK", subagent_type="general-purpose"),
        say("finished"),
    )
    env = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
    assert claude_cli.run("go", isolated_home.project(), env=env).result == "finished"
    assert [item.prompt for item in fake_anthropic.conversation_requests()] == ["go", ""]
    assert [item.prompt for item in fake_anthropic.requests(RequestKind.SUBAGENT)] == ["SUBTASK"]


class TestTerminal:
    """The terminal UI."""

    def test_prompts_and_exit(self, claude_cli: ClaudeCli, isolated_home: IsolatedHome) -> None:
        with ClaudeTerminal.open(claude_cli, isolated_home.project()) as terminal:
            terminal.prompt("one")
            terminal.prompt("two")
            session = terminal.session_id()
            assert terminal.status() == "idle"
            terminal.exit()
            assert not terminal.tmux.alive()
        lines = read_lines(claude_cli.session_file(session))
        assert sum(line.get("subtype") == "turn_duration" for line in lines) == 2

    def test_interrupt_while_a_reply_is_held(
        self, claude_cli: ClaudeCli, fake_anthropic: FakeAnthropic, isolated_home: IsolatedHome
    ) -> None:
        gate = threading.Event()
        fake_anthropic.enqueue(Reply(Text("half"), Hold(gate), Text("rest")))
        with ClaudeTerminal.open(claude_cli, isolated_home.project()) as terminal:
            terminal.submit("one")
            terminal.tmux.wait_for("half")
            terminal.interrupt()
            gate.set()
            terminal.prompt("two")
        sent = anthropic_items(fake_anthropic.last_prompted("two").body)
        assert Item("user", "[Request interrupted by user]") in sent

    def test_rewind_compact_and_bash(
        self, claude_cli: ClaudeCli, fake_anthropic: FakeAnthropic, isolated_home: IsolatedHome
    ) -> None:
        with ClaudeTerminal.open(claude_cli, isolated_home.project()) as terminal:
            terminal.prompt("one")
            terminal.prompt("two")
            terminal.rewind("two")
            terminal.prompt("three")
            assert Item("user", "two") not in anthropic_items(
                fake_anthropic.last_prompted("three").body
            )
            terminal.bash("echo hi$((1+1))")
            assert "hi2" in fake_anthropic.conversation_requests()[-1].prompt
            terminal.compact()
            terminal.prompt("four")
        assert fake_anthropic.requests(RequestKind.COMPACT)
        texts = [item.text for item in anthropic_items(fake_anthropic.last_prompted("four").body)]
        assert "SUMMARY: the story so far." in texts[0]

    def test_a_prompt_queued_while_busy(
        self, claude_cli: ClaudeCli, fake_anthropic: FakeAnthropic, isolated_home: IsolatedHome
    ) -> None:
        gate = threading.Event()
        fake_anthropic.enqueue(Reply(Text("slow"), Hold(gate), Text("answer")))
        with ClaudeTerminal.open(claude_cli, isolated_home.project()) as terminal:
            terminal.submit("one")
            terminal.tmux.wait_for("slow")
            terminal.queue("two")
            gate.set()
            terminal.wait_turns(2)
        assert [r.prompt for r in fake_anthropic.conversation_requests()] == ["one", "two"]

    def test_branch_gives_another_session(
        self, claude_cli: ClaudeCli, isolated_home: IsolatedHome
    ) -> None:
        with ClaudeTerminal.open(claude_cli, isolated_home.project()) as terminal:
            terminal.prompt("one")
            parent = terminal.session_id()
            terminal.branch()
            assert terminal.session_id() != parent

    def test_a_turn_that_does_not_end_is_told_with_the_screen(
        self, claude_cli: ClaudeCli, fake_anthropic: FakeAnthropic, isolated_home: IsolatedHome
    ) -> None:
        fake_anthropic.enqueue(Reply(Text("half"), Hold(threading.Event())))
        with (
            ClaudeTerminal.open(claude_cli, isolated_home.project()) as terminal,
            pytest.raises(TimeoutError, match="half"),
        ):
            terminal.prompt("one", timeout=1)
