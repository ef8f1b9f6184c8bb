"""The fake model servers: protocol, script, log, waiting."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import pytest

from prong.testing.anthropic import FakeAnthropic
from prong.testing.openai import FakeOpenAI
from prong.testing.script import (
    Delay,
    Fail,
    Hold,
    Reply,
    Text,
    Thinking,
    ToolCall,
    Usage,
    call,
    say,
)
from prong.testing.server import FakeModelServer, RequestKind

TOOLS = [{"name": "Bash"}]


def post(
    server: FakeModelServer, path: str, body: Any, headers: dict[str, str] | None = None
) -> str:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(server.url + path, raw, headers or {})  # noqa: S310
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return answer.read().decode()


def ask_claude(
    server: FakeAnthropic, *texts: str, headers: dict[str, str] | None = None, **extra: Any
) -> str:
    messages = [{"role": "user", "content": text} for text in texts]
    body = {"model": "m", "tools": TOOLS, "messages": messages, **extra}
    return post(server, "/v1/messages?beta=true", body, headers)


def ask_codex(
    server: FakeOpenAI, text: str, headers: dict[str, str] | None = None, **extra: Any
) -> str:
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return post(server, "/v1/responses", {"input": [message], **extra}, headers)


def events(stream: str) -> list[dict[str, Any]]:
    return [
        json.loads(row.removeprefix("data: "))
        for row in stream.split("\n")
        if row.startswith("data: ")
    ]


class TestScript:
    def test_the_default_echoes(self) -> None:
        with FakeAnthropic() as server:
            answer = json.loads(ask_claude(server, "hello"))
        assert answer["content"] == [{"type": "text", "text": "ECHO: hello"}]
        assert answer["stop_reason"] == "end_turn"

    def test_a_queue_is_used_up_then_the_default_again(self) -> None:
        with FakeAnthropic() as server:
            server.enqueue(say("one"), say("two"))
            answers = [json.loads(ask_claude(server, "x"))["content"][0]["text"] for _ in range(3)]
        assert answers == ["one", "two", "ECHO: x"]

    def test_a_cleared_queue_is_empty(self) -> None:
        with FakeAnthropic() as server:
            server.enqueue(say("one"))
            server.clear_queue()
            assert "ECHO" in ask_claude(server, "x")

    def test_a_function_comes_before_the_queue_and_may_decline(self) -> None:
        with FakeAnthropic() as server:
            server.respond = lambda request: say("special") if request.prompt == "a" else None
            server.enqueue(say("queued"))
            assert "special" in ask_claude(server, "a")
            assert "queued" in ask_claude(server, "b")

    def test_after_tool_results_the_default_says_done(self) -> None:
        result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}
        with FakeAnthropic() as server:
            answer = post(server, "/v1/messages", {"tools": TOOLS, "messages": [result]})
        assert "DONE 1" in answer

    def test_a_failure_has_its_status(self) -> None:
        with FakeAnthropic() as server:
            server.enqueue(Fail(529, "busy"))
            with pytest.raises(urllib.error.HTTPError) as caught:
                ask_claude(server, "x")
            caught.value.close()
        assert caught.value.code == 529

    def test_another_path_is_no_model_request(self) -> None:
        with FakeAnthropic() as server:
            with pytest.raises(urllib.error.HTTPError) as caught:
                post(server, "/v1/messages/count_tokens", b"not json")
            caught.value.close()
            assert [request.kind for request in server.requests()] == [RequestKind.OTHER]
            assert server.conversation_requests() == []

    def test_shorthands(self) -> None:
        assert say("x") == Reply(Text("x"))
        assert call("Bash", command="ls") == Reply(ToolCall("Bash", {"command": "ls"}))
        assert call("Bash").calls_tools
        assert not say("x").calls_tools


class TestAnthropic:
    def test_a_stream_of_all_blocks(self) -> None:
        with FakeAnthropic() as server:
            server.enqueue(
                Reply(
                    Thinking("hm"),
                    Delay(0.001),
                    Text("hi"),
                    ToolCall("Bash", {"command": "ls"}),
                    ToolCall("Bash", {"command": "id"}, id="mine"),
                    usage=Usage(990_000, 7),
                )
            )
            stream = events(ask_claude(server, "go", stream=True))
        starts = [e["content_block"] for e in stream if e["type"] == "content_block_start"]
        assert [block["type"] for block in starts] == ["thinking", "text", "tool_use", "tool_use"]
        assert starts[3]["id"] == "mine"
        deltas = [e["delta"]["type"] for e in stream if e["type"] == "content_block_delta"]
        assert deltas == [
            *("thinking_delta", "signature_delta", "text_delta"),
            *("input_json_delta", "input_json_delta"),
        ]
        assert stream[0]["message"]["usage"]["input_tokens"] == 990_000
        assert stream[-2]["delta"]["stop_reason"] == "tool_use"
        assert stream[-1]["type"] == "message_stop"

    def test_kinds(self) -> None:
        with FakeAnthropic() as server:
            ask_claude(server, "hello")
            ask_claude(server, "title please", tools=[])
            ask_claude(server, "Your task is to create a detailed summary of the conversation")
            ask_claude(server, "sub", headers={"x-claude-code-agent-id": "a1"})
            kinds = [request.kind for request in server.requests()]
            assert kinds == [
                RequestKind.MAIN,
                RequestKind.TITLE,
                RequestKind.COMPACT,
                RequestKind.SUBAGENT,
            ]
            assert [request.prompt for request in server.conversation_requests()] == ["hello"]

    def test_reminders_are_no_prompt(self) -> None:
        with FakeAnthropic() as server:
            ask_claude(server, "real", "<system-reminder>\nnote\n</system-reminder>")
            assert server.requests()[0].prompt == "real"


class TestOpenAI:
    def test_a_stream_of_all_blocks(self) -> None:
        spawn = ToolCall("spawn_agent", {"message": "m"}, namespace="multi_agent_v1")
        with FakeOpenAI() as server:
            server.enqueue(Reply(Thinking("hm"), Delay(0.001), Text("hi"), spawn))
            stream = events(ask_codex(server, "go", stream=True))
        done = [e["item"] for e in stream if e["type"] == "response.output_item.done"]
        assert [item["type"] for item in done] == ["reasoning", "message", "function_call"]
        assert done[2]["namespace"] == "multi_agent_v1"
        assert json.loads(done[2]["arguments"]) == {"message": "m"}
        assert stream[0]["type"] == "response.created"
        assert stream[-1]["type"] == "response.completed"
        assert stream[-1]["response"]["output"] == done

    def test_kinds(self) -> None:
        with FakeOpenAI() as server:
            ask_codex(server, "hello")
            title = {"x-codex-turn-metadata": '{"thread_source":"thread_title"}'}
            answer = json.loads(ask_codex(server, "Generate a title", title))
            ask_codex(server, "You are performing a CONTEXT CHECKPOINT COMPACTION. Do it.")
            ask_codex(server, "sub", {"x-openai-subagent": "collab_spawn"})
            kinds = [request.kind for request in server.requests()]
        assert kinds == [
            RequestKind.MAIN,
            RequestKind.TITLE,
            RequestKind.COMPACT,
            RequestKind.SUBAGENT,
        ]
        assert "title" in json.loads(answer["output"][0]["content"][0]["text"])


class TestWaiting:
    def test_a_held_reply_waits_for_the_test(self) -> None:
        gate = threading.Event()
        answers: list[str] = []
        with FakeAnthropic() as server:
            server.enqueue(Reply(Text("a"), Hold(gate), Text("b")))
            asker = threading.Thread(
                target=lambda: answers.append(ask_claude(server, "x", stream=True))
            )
            asker.start()
            assert server.wait_for_prompt("x").number == 1
            assert answers == []
            gate.set()
            asker.join(10)
        assert "message_stop" in answers[0]

    def test_closing_lets_go_of_held_replies(self) -> None:
        answers: list[str] = []
        with FakeAnthropic() as server:
            server.enqueue(Reply(Hold(threading.Event()), Text("b")))
            asker = threading.Thread(target=lambda: answers.append(ask_claude(server, "x")))
            asker.start()
            server.wait_for_prompt("x")
        asker.join(10)
        assert len(answers) == 1

    def test_since_looks_at_later_requests_only(self) -> None:
        with FakeAnthropic() as server:
            ask_claude(server, "x")
            with pytest.raises(TimeoutError, match="seen"):
                server.wait_for_prompt("x", since=1, timeout=0.05)

    def test_last_prompted(self) -> None:
        with FakeAnthropic() as server:
            ask_claude(server, "x")
            ask_claude(server, "x")
            assert server.last_prompted("x").number == 2
            with pytest.raises(AssertionError):
                server.last_prompted("y")

    def test_closing_is_quick(self) -> None:
        begin = time.monotonic()
        with FakeAnthropic():
            pass
        assert time.monotonic() - begin < 0.5
