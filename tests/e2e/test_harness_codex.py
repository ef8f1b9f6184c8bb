"""Each capability of the Codex harness, shown with the real program."""

from __future__ import annotations

import threading

import pytest

from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from prong.testing.script import Fail, Hold, Reply, Text, Thinking, ToolCall, say
from prong.testing.server import RequestKind
from tests.drivers.codex_cli import CodexCli
from tests.drivers.codex_server import CodexServer, RpcError
from tests.drivers.codex_terminal import CodexTerminal
from tests.drivers.requests import Item, openai_items


def prompts(server: FakeOpenAI) -> list[str]:
    """What the main conversation asked, in order; "" after tool results."""
    return [request.prompt for request in server.conversation_requests()]


def users(server: FakeOpenAI, prompt: str) -> list[str]:
    """The user texts that were sent together with a prompt."""
    items = openai_items(server.last_prompted(prompt).body)
    return [item.text for item in items if item.role == "user"]


def test_headless_turns_are_answered_and_stored(
    codex_cli: CodexCli, fake_openai: FakeOpenAI, isolated_home: IsolatedHome
) -> None:
    cwd = isolated_home.project()
    run = codex_cli.run("one", cwd)
    assert (run.code, run.result, run.failed) == (0, "ECHO: one", False)
    again = codex_cli.resume(run.thread_id, "two", cwd)
    assert again.thread_id == run.thread_id
    assert codex_cli.thread_ids() == [run.thread_id]
    assert codex_cli.live_rollout(run.thread_id) == codex_cli.rollouts(run.thread_id)[0]
    assert prompts(fake_openai) == ["one", "two"]
    assert openai_items(fake_openai.conversation_requests()[-1].body) == [
        Item("user", "one"),
        Item("assistant", "ECHO: one"),
        Item("user", "two"),
    ]


def test_tools_run_and_their_results_come_back(
    codex_cli: CodexCli, fake_openai: FakeOpenAI, isolated_home: IsolatedHome
) -> None:
    fake_openai.enqueue(
        Reply(
            Thinking("hm"),
            Text("both"),
            ToolCall("exec_command", {"cmd": "echo one"}),
            ToolCall("exec_command", {"cmd": "exit 3"}),
        ),
        say("finished"),
    )
    assert codex_cli.run("go", isolated_home.project()).result == "finished"
    items = openai_items(fake_openai.conversation_requests()[-1].body)
    assert [item.role for item in items] == [
        *("user", "thinking", "assistant", "call", "call", "result", "result")
    ]
    assert "Output:\none" in items[-2].text
    assert "exited with code 3" in items[-1].text


def test_fork_with_and_without_a_prompt(
    codex_cli: CodexCli, fake_openai: FakeOpenAI, isolated_home: IsolatedHome
) -> None:
    cwd = isolated_home.project()
    source = codex_cli.run("one", cwd).thread_id
    silent = codex_cli.fork(source, None, cwd)
    spoken = codex_cli.fork(source, "two", cwd)
    assert len({source, silent.thread_id, spoken.thread_id}) == 3
    assert prompts(fake_openai) == ["one", "two"]
    codex_cli.fork(source, "three", cwd, ephemeral=True)
    assert len(codex_cli.thread_ids()) == 3


def test_a_failure_is_told(
    codex_cli: CodexCli, fake_openai: FakeOpenAI, isolated_home: IsolatedHome
) -> None:
    fake_openai.enqueue(Fail(400))
    run = codex_cli.run("hello", isolated_home.project())
    assert (run.code, run.failed) == (1, True)


class TestAppServer:
    """JSON-RPC over stdin and stdout."""

    def test_fork_revert_compact(
        self, codex_cli: CodexCli, fake_openai: FakeOpenAI, isolated_home: IsolatedHome
    ) -> None:
        with CodexServer(codex_cli, isolated_home.project()) as server:
            thread = server.start_thread()
            for prompt in ("one", "two", "three"):
                server.turn(thread, prompt)
            turns = server.turn_ids(thread)
            fork = server.fork_thread(thread, turns[0])
            server.turn(fork, "four")
            assert users(fake_openai, "four") == ["one", "four"]
            server.revert_thread(thread, turns[2])
            server.turn(thread, "five")
            assert users(fake_openai, "five") == ["one", "two", "five"]
            assert len(codex_cli.rollouts(thread)) == 2
            server.compact(thread)
            server.turn(thread, "six")
        assert fake_openai.requests(RequestKind.COMPACT)
        assert any("SUMMARY" in text for text in users(fake_openai, "six"))

    def test_interrupt(
        self, codex_cli: CodexCli, fake_openai: FakeOpenAI, isolated_home: IsolatedHome
    ) -> None:
        gate = threading.Event()
        fake_openai.enqueue(Reply(Text("half"), Hold(gate), Text("rest")))
        with CodexServer(codex_cli, isolated_home.project()) as server:
            thread = server.start_thread()
            turn = server.start_turn(thread, "one")
            fake_openai.wait_for_prompt("one")
            server.interrupt(thread, turn)
            assert server.finish_turn(turn) == "interrupted"
        gate.set()

    def test_an_error_is_raised(self, codex_cli: CodexCli, isolated_home: IsolatedHome) -> None:
        with CodexServer(codex_cli, isolated_home.project()) as server:
            thread = server.start_thread()
            server.turn(thread, "one")
            with pytest.raises(RpcError, match="turn not found"):
                server.fork_thread(thread, "nope")

    def test_a_subagents_requests_are_told_apart(
        self, codex_cli: CodexCli, fake_openai: FakeOpenAI, isolated_home: IsolatedHome
    ) -> None:
        spawn = ToolCall("spawn_agent", {"message": "SUBTASK"}, namespace="multi_agent_v1")
        fake_openai.enqueue(Reply(spawn), say("started"))
        with CodexServer(codex_cli, isolated_home.project()) as server:
            server.turn(server.start_thread(), "go")
            request = fake_openai.wait_for(lambda request: request.kind is RequestKind.SUBAGENT)
        assert request.prompt == "SUBTASK"
        assert prompts(fake_openai)[0] == "go"


class TestTerminal:
    """The terminal UI."""

    def test_prompts_shell_rewind_and_exit(
        self, codex_cli: CodexCli, fake_openai: FakeOpenAI, isolated_home: IsolatedHome
    ) -> None:
        with CodexTerminal.open(codex_cli, isolated_home.project()) as terminal:
            terminal.prompt("one")
            terminal.shell("echo hi$((1+1))")
            terminal.prompt("two")
            assert "hi2" in users(fake_openai, "two")[1]
            terminal.rewind("two")
            terminal.prompt("three")
            assert "two" not in users(fake_openai, "three")
            terminal.exit()
            assert not terminal.tmux.alive()
        assert len(codex_cli.rollouts(terminal.thread_id())) == 2
        assert [request.prompt for request in fake_openai.conversation_requests()] == [
            *("one", "two", "three")
        ]

    def test_interrupt(
        self, codex_cli: CodexCli, fake_openai: FakeOpenAI, isolated_home: IsolatedHome
    ) -> None:
        gate = threading.Event()
        fake_openai.enqueue(Reply(Text("half\n"), Hold(gate), Text("rest")))
        with CodexTerminal.open(codex_cli, isolated_home.project()) as terminal:
            terminal.submit("one")
            fake_openai.wait_for_prompt("one")
            terminal.interrupt()
            gate.set()
            terminal.prompt("two")
        assert any("<turn_aborted>" in text for text in users(fake_openai, "two"))

    def test_resume(self, codex_cli: CodexCli, isolated_home: IsolatedHome) -> None:
        cwd = isolated_home.project()
        thread = codex_cli.run("one", cwd).thread_id
        with CodexTerminal.open(codex_cli, cwd, ["resume", thread], thread) as terminal:
            terminal.prompt("two")
            assert terminal.ended_turns() == 2
