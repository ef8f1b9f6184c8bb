"""Request bodies as lists of plain items, so that histories can be compared with `==`.

Content that the agent adds itself (system messages, reminders, environment, developer items) is
left out, because it differs between two runs of the same history.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast

from prong.model.record import Record
from prong.testing.anthropic import strip_reminders
from prong.testing.openai import CODEX_INJECTED

Role = Literal["user", "assistant", "thinking", "call", "result"]


class Item(Record, frozen=True):
    """One item of history. For a call, `text` is the canonical JSON of the input.

    Content without text (an image, a document) becomes its type and digest in brackets.
    """

    role: Role
    text: str
    name: str = ""
    id: str = ""
    signature: str = ""
    """For thinking: the service's signature or encrypted content."""


def canonical(value: Any) -> str:
    """Serialize to JSON with sorted keys and no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def records(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a JSON list; [] for anything else."""
    if not isinstance(value, list):
        return []
    entries = cast("list[Any]", value)
    return [cast("dict[str, Any]", entry) for entry in entries if isinstance(entry, dict)]


def anthropic_items(body: Mapping[str, Any]) -> list[Item]:
    """Return the history in the body of a POST /v1/messages."""
    items: list[Item] = []
    for message in records(body.get("messages")):
        content: Any = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        match message.get("role"):
            case "user":
                items += [item for block in records(blocks) for item in _block("user", block)]
            case "assistant":
                items += [item for block in records(blocks) for item in _block("assistant", block)]
            case _:
                pass
    return items


def _block(role: Role, block: dict[str, Any]) -> Iterator[Item]:
    match block.get("type"):
        case "text":
            text = strip_reminders(str(block["text"]))
            if text:
                yield Item(role, text)
        case "thinking":
            signature = str(block.get("signature", ""))
            yield Item("thinking", str(block.get("thinking", "")), signature=signature)
        case "redacted_thinking":
            yield Item("thinking", "[redacted]", signature=str(block.get("data", "")))
        case "tool_use":
            yield Item("call", canonical(block.get("input")), str(block["name"]), str(block["id"]))
        case "tool_result":
            text = strip_reminders(plain_text(block.get("content")))
            yield Item("result", text, id=str(block["tool_use_id"]))
        case _:
            yield Item(role, _digest(block))


def openai_items(body: Mapping[str, Any]) -> list[Item]:
    """Return the history in the body of a POST /v1/responses."""
    return [item for entry in records(body.get("input")) for item in _entry(entry)]


def _entry(entry: dict[str, Any]) -> Iterator[Item]:
    call_id = str(entry.get("call_id", ""))
    match entry.get("type", "message"):
        case "message":
            yield from _message(entry)
        case "reasoning":
            signature = str(entry.get("encrypted_content") or "")
            yield Item("thinking", plain_text(entry.get("summary")), signature=signature)
        case "function_call":
            yield Item("call", _arguments(entry), _tool_name(entry), call_id)
        case "custom_tool_call":
            yield Item("call", str(entry.get("input", "")), _tool_name(entry), call_id)
        case "function_call_output" | "custom_tool_call_output":
            yield Item("result", plain_text(entry.get("output")), id=call_id)
        case _:
            pass


def _message(entry: dict[str, Any]) -> Iterator[Item]:
    texts = [_part(part) for part in records(entry.get("content"))]
    match entry.get("role"):
        case "user":
            for text in texts:
                if not text.lstrip().startswith(CODEX_INJECTED):
                    yield Item("user", text)
        case "assistant":
            for text in texts:
                yield Item("assistant", text)
        case _:
            pass


def _tool_name(entry: dict[str, Any]) -> str:
    return "/".join(str(entry[key]) for key in ("namespace", "name") if entry.get(key))


def _arguments(entry: dict[str, Any]) -> str:
    text = str(entry.get("arguments") or "{}")
    try:
        return canonical(json.loads(text))
    except ValueError:
        return text


def plain_text(content: Any) -> str:
    """Return the text of a string or a list of blocks; blocks without `text` become a digest."""
    return content if isinstance(content, str) else "\n".join(map(_part, records(content)))


def _part(block: dict[str, Any]) -> str:
    return str(block["text"]) if "text" in block else _digest(block)


def _digest(block: dict[str, Any]) -> str:
    """Return type and digest of a block. Cache settings are ignored."""
    content = {key: value for key, value in block.items() if key != "cache_control"}
    digest = hashlib.sha256(canonical(content).encode()).hexdigest()
    return f"[{block.get('type')} {digest[:16]}]"
