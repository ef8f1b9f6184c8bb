"""Request bodies become plain items that can be compared."""

from __future__ import annotations

import re
from typing import Any

from prong.testing.anthropic import strip_reminders
from tests.drivers.requests import (
    Item,
    anthropic_items,
    canonical,
    openai_items,
    plain_text,
    records,
)


def test_reminders_are_stripped_and_nothing_else() -> None:
    assert strip_reminders("<system-reminder>a</system-reminder>") == ""
    assert strip_reminders("x <system-reminder>a\nb</system-reminder> y\n") == "x y"
    assert strip_reminders("no reminder\n") == "no reminder"


def test_canonical_json_does_not_depend_on_the_order_of_keys() -> None:
    assert canonical({"b": 1, "a": "é"}) == '{"a":"é","b":1}' == canonical({"a": "é", "b": 1})


def test_plain_text() -> None:
    assert plain_text(None) == ""
    assert plain_text("x") == "x"
    assert re.fullmatch(
        r"x\n\[image [0-9a-f]{16}\]", plain_text([{"type": "text", "text": "x"}, {"type": "image"}])
    )


def test_records_drops_what_is_no_object() -> None:
    assert records([{"a": 1}, "x"]) == [{"a": 1}]
    assert records("x") == []


def test_anthropic() -> None:
    body: dict[str, Any] = {
        "messages": [
            {"role": "system", "content": "environment"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "<system-reminder>note</system-reminder>"},
                    {"type": "text", "text": "hello\n"},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "hi"},
                    {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"b": 1, "a": 2}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "out"},
                    {"type": "image", "source": {}},
                ],
            },
            {"role": "user", "content": "next"},
        ]
    }
    assert anthropic_items(body) == [
        Item("user", "hello"),
        Item("thinking", "hm", signature="s"),
        Item("assistant", "hi"),
        Item("call", '{"a":2,"b":1}', "Bash", "t1"),
        Item("result", "out", id="t1"),
        Item("user", plain_text([{"type": "image", "source": {}}])),
        Item("user", "next"),
    ]


def test_thoughts_and_pictures_are_told_apart_by_their_content() -> None:
    def item(block: dict[str, Any]) -> Item:
        (found,) = anthropic_items({"messages": [{"role": "assistant", "content": [block]}]})
        return found

    thought = {"type": "thinking", "thinking": "", "signature": "a"}
    assert item(thought) == Item("thinking", "", signature="a") != item(thought | {"signature": ""})
    assert item({"type": "redacted_thinking", "data": "a"}) != item(thought)
    image = {"type": "image", "source": {"data": "a"}}
    assert item(image) == item(image | {"cache_control": {"type": "ephemeral"}})
    assert item(image) != item(image | {"source": {"data": "b"}})
    result = {"type": "tool_result", "tool_use_id": "t", "content": [image]}
    assert item(result) != item(result | {"content": [image | {"source": {"data": "b"}}]})


def test_openai() -> None:
    def message(role: str, text: str) -> dict[str, Any]:
        return {"type": "message", "role": role, "content": [{"type": "t", "text": text}]}

    body: dict[str, Any] = {
        "input": [
            message("developer", "rules"),
            message("user", "<environment_context>\n…</environment_context>"),
            message("user", "hello"),
            {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": "e",
            },
            message("assistant", "hi"),
            {
                "type": "function_call",
                "namespace": "ns",
                "name": "tool",
                "arguments": '{"b": 1, "a": 2}',
                "call_id": "c1",
            },
            {"type": "function_call", "name": "tool", "arguments": "{broken", "call_id": "c2"},
            {"type": "function_call_output", "call_id": "c1", "output": "out"},
            {"type": "custom_tool_call", "name": "apply_patch", "input": "***", "call_id": "c3"},
            {"type": "custom_tool_call_output", "call_id": "c3", "output": [{"text": "ok"}]},
            {"type": "web_search_call"},
        ]
    }
    assert openai_items(body) == [
        Item("user", "hello"),
        Item("thinking", "hm", signature="e"),
        Item("assistant", "hi"),
        Item("call", '{"a":2,"b":1}', "ns/tool", "c1"),
        Item("call", "{broken", "tool", "c2"),
        Item("result", "out", id="c1"),
        Item("call", "***", "apply_patch", "c3"),
        Item("result", "ok", id="c3"),
    ]
