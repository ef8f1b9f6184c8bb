"""Fake of the OpenAI responses API, as far as Codex uses it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from prong.testing.script import (
    Answer,
    Delay,
    Hold,
    RedactedThinking,
    Reply,
    Text,
    Thinking,
    ToolCall,
    say,
)
from prong.testing.server import FakeModelServer, Request, RequestKind

CODEX_INJECTED = ("<environment_context>", "<user_instructions>", "<skills_instructions>")
"""What Codex adds to user messages itself."""
_AFTER_PROMPTS = (
    *("reasoning", "function_call", "function_call_output"),
    *("custom_tool_call", "custom_tool_call_output"),
)
COMPACT_SIGN = "You are performing a CONTEXT CHECKPOINT COMPACTION"


class FakeOpenAI(FakeModelServer):
    """A fake server for POST /v1/responses, streamed or not."""

    path = "/v1/responses"

    def prompt_of(self, body: dict[str, Any]) -> str:
        return last_prompt(body)

    def classify(self, headers: Mapping[str, str], body: dict[str, Any]) -> RequestKind:
        if '"thread_title"' in headers.get("x-codex-turn-metadata", ""):
            return RequestKind.TITLE
        if COMPACT_SIGN in last_prompt(body):
            return RequestKind.COMPACT
        if headers.get("x-openai-subagent"):
            return RequestKind.SUBAGENT
        return RequestKind.MAIN

    def default_answer(self, request: Request) -> Answer:
        # The TUI repeats the title request until the answer matches its schema.
        if request.kind is RequestKind.TITLE:
            return say('{"title": "A test session"}')
        return super().default_answer(request)

    def events(self, request: Request, reply: Reply) -> Iterator[dict[str, Any] | Hold | Delay]:
        head = {"id": f"resp_{request.number}", "object": "response", "status": "in_progress"}
        yield {"type": "response.created", "response": head}
        index = 0
        for block in reply.blocks:
            if isinstance(block, Hold | Delay):
                yield block
                continue
            item, place = _item(request, index, block), {"output_index": index}
            added: dict[str, Any] = item | {"content": []} if item["type"] == "message" else item
            yield {"type": "response.output_item.added", **place, "item": added}
            if isinstance(block, Text):
                delta = {"item_id": item["id"], "content_index": 0, "delta": block.text}
                yield {"type": "response.output_text.delta", **place, **delta}
            yield {"type": "response.output_item.done", **place, "item": item}
            index += 1
        yield {"type": "response.completed", "response": self.document(request, reply)}

    def document(self, request: Request, reply: Reply) -> dict[str, Any]:
        blocks = [block for block in reply.blocks if not isinstance(block, Hold | Delay)]
        usage = reply.usage
        return {
            "id": f"resp_{request.number}",
            "object": "response",
            "status": "completed",
            "output": [_item(request, index, block) for index, block in enumerate(blocks)],
            "usage": {
                "input_tokens": usage.input_tokens,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": usage.output_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.input_tokens + usage.output_tokens,
            },
        }


def last_prompt(body: Mapping[str, Any]) -> str:
    """Return the last user text, or "" if an answer or tool result follows it."""
    for entry in reversed(list(body.get("input") or [])):
        if entry.get("type") in _AFTER_PROMPTS:
            return ""
        if entry.get("type", "message") != "message":
            continue
        content: list[dict[str, Any]] = entry.get("content") or []
        texts = [str(part["text"]) for part in content if "text" in part]
        if entry.get("role") == "assistant" and texts:
            return ""
        texts = [text for text in texts if not text.lstrip().startswith(CODEX_INJECTED)]
        if entry.get("role") == "user" and texts:
            return texts[-1]
    return ""


def _item(
    request: Request, index: int, block: Text | Thinking | RedactedThinking | ToolCall
) -> dict[str, Any]:
    suffix = f"{request.number:06d}_{index}"
    match block:
        case Text(text):
            return {
                "type": "message",
                "id": f"msg_{suffix}",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            }
        case Thinking(text):
            return {
                "type": "reasoning",
                "id": f"rs_{suffix}",
                "summary": [{"type": "summary_text", "text": text}],
                "encrypted_content": base64.b64encode(f"thought {suffix}".encode()).decode(),
            }
        case RedactedThinking(data):
            return {
                "type": "reasoning",
                "id": f"rs_{suffix}",
                "summary": [],
                "encrypted_content": data,
            }
        case ToolCall():
            item: dict[str, Any] = {
                "type": "function_call",
                "id": f"fc_{suffix}",
                "call_id": block.id or f"call_{suffix}",
                "name": block.name,
                "arguments": json.dumps(block.input),
                "status": "completed",
            }
            return item | ({"namespace": block.namespace} if block.namespace else {})
