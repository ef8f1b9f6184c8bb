"""Fake of the Anthropic messages API, as far as Claude Code uses it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from prong.testing.script import Delay, Hold, RedactedThinking, Reply, Text, Thinking, ToolCall
from prong.testing.server import FakeModelServer, Request, RequestKind

COMPACT_SIGN = "Your task is to create a detailed summary of"
REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


class FakeAnthropic(FakeModelServer):
    """A fake server for POST /v1/messages, streamed or not."""

    path = "/v1/messages"

    def prompt_of(self, body: dict[str, Any]) -> str:
        return last_prompt(body)

    def classify(self, headers: Mapping[str, str], body: dict[str, Any]) -> RequestKind:
        if COMPACT_SIGN in last_prompt(body):
            return RequestKind.COMPACT
        if headers.get("x-claude-code-agent-id"):
            return RequestKind.SUBAGENT
        # Titles and the like are requested without tools; the conversation always includes them.
        if not body.get("tools"):
            return RequestKind.TITLE
        return RequestKind.MAIN

    def events(self, request: Request, reply: Reply) -> Iterator[dict[str, Any] | Hold | Delay]:
        start = self.document(request, Reply(usage=reply.usage)) | {"stop_reason": None}
        yield {"type": "message_start", "message": start}
        index = 0
        for block in reply.blocks:
            if isinstance(block, Hold | Delay):
                yield block
                continue
            empty, deltas = _pieces(_block(request, index, block))
            yield {"type": "content_block_start", "index": index, "content_block": empty}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
            index += 1
        stop = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
        yield {"type": "message_delta", "delta": stop, "usage": _usage(reply)}
        yield {"type": "message_stop"}

    def document(self, request: Request, reply: Reply) -> dict[str, Any]:
        blocks = [block for block in reply.blocks if not isinstance(block, Hold | Delay)]
        return {
            "id": f"msg_{request.number:06d}",
            "type": "message",
            "role": "assistant",
            "model": request.body.get("model", "fake"),
            "content": [_block(request, index, block) for index, block in enumerate(blocks)],
            "stop_reason": _stop_reason(reply),
            "stop_sequence": None,
            "usage": _usage(reply),
        }


def last_prompt(body: Mapping[str, Any]) -> str:
    """Return the last user text after the last assistant message, without reminders, or "".

    A queued prompt that arrives with tool results counts, so that a test can wait for it.
    """
    for message in reversed(list(body.get("messages") or [])):
        if message.get("role") == "assistant":
            break
        content: Any = message.get("content") or []
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts = [strip_reminders(item["text"]) for item in blocks if item.get("type") == "text"]
        if message.get("role") == "user" and any(texts):
            return next(text for text in reversed(texts) if text)
    return ""


def strip_reminders(text: str) -> str:
    """Remove <system-reminder> blocks; "" if nothing else remains.

    Surrounding whitespace is removed too: Claude Code adds a newline between joined user lines.
    """
    return REMINDER.sub("", text).strip()


def _stop_reason(reply: Reply) -> str:
    return "tool_use" if reply.calls_tools else "end_turn"


def _usage(reply: Reply) -> dict[str, Any]:
    return {
        "input_tokens": reply.usage.input_tokens,
        "output_tokens": reply.usage.output_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }


def _block(
    request: Request, index: int, block: Text | Thinking | RedactedThinking | ToolCall
) -> dict[str, Any]:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Thinking(text):
            signature = base64.b64encode(f"signature {request.number} {index}".encode()).decode()
            return {"type": "thinking", "thinking": text, "signature": signature}
        case RedactedThinking(data):
            return {"type": "redacted_thinking", "data": data}
        case ToolCall():
            call_id = block.id or f"toolu_{request.number:06d}_{index}"
            return {"type": "tool_use", "id": call_id, "name": block.name, "input": block.input}


def _pieces(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Split a block into its empty start and the deltas that fill it."""
    match block["type"]:
        case "text":
            return block | {"text": ""}, [{"type": "text_delta", "text": block["text"]}]
        case "redacted_thinking":
            return block, []
        case "thinking":
            return block | {"thinking": "", "signature": ""}, [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case _:
            text = json.dumps(block["input"])
            return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": text}]
