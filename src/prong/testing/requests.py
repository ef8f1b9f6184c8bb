"""A request body as a list of plain items, so that two histories can be compared with `==`.

What an agent adds on its own account (system messages, reminders, environment, developer items)
is left out: it differs between two runs of the same history and is no part of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["user", "assistant", "thinking", "call", "result"]

REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)

# Codex puts these into user messages by itself.
CODEX_INJECTED = ("<environment_context>", "<user_instructions>", "<skills_instructions>")


@dataclass(frozen=True)
class Item:
    """One piece of history. For a call, `text` is the canonical JSON of the input."""

    role: Role
    text: str
    name: str = ""
    id: str = ""


def strip_reminders(text: str) -> str:
    """The text without its <system-reminder> blocks; "" when nothing else was in it.

    Blank space at both ends goes too: Claude Code adds a newline where it joins two user lines.
    """
    return REMINDER.sub("", text).strip()


def canonical(value: Any) -> str:
    """JSON with sorted keys and no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def anthropic_items(body: Mapping[str, Any]) -> list[Item]:
    """The history in the body of a POST /v1/messages."""
    items: list[Item] = []
    for message in body.get("messages") or []:
        role: str = message.get("role", "")
        if role not in ("user", "assistant"):
            continue
        content: Any = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for block in blocks:
            items += _anthropic_block("user" if role == "user" else "assistant", block)
    return items


def _anthropic_block(role: Role, block: Mapping[str, Any]) -> Iterable[Item]:
    match block.get("type"):
        case "text":
            text = strip_reminders(block["text"])
            if text:
                yield Item(role, text)
        case "thinking":
            yield Item("thinking", block.get("thinking", ""))
        case "tool_use":
            yield Item("call", canonical(block.get("input")), block["name"], block["id"])
        case "tool_result":
            text = strip_reminders(plain_text(block.get("content")))
            yield Item("result", text, id=block["tool_use_id"])
        case other:
            yield Item(role, f"[{other}]")


def openai_items(body: Mapping[str, Any]) -> list[Item]:
    """The history in the body of a POST /v1/responses."""
    items: list[Item] = []
    for entry in body.get("input") or []:
        match entry.get("type", "message"):
            case "message":
                role = entry.get("role")
                if role in ("user", "assistant"):
                    texts = [part.get("text", "") for part in entry.get("content") or []]
                    items += [Item(role, text) for text in texts if not _injected(role, text)]
            case "reasoning":
                items.append(Item("thinking", plain_text(entry.get("summary"))))
            case "function_call":
                name = "/".join(p for p in (entry.get("namespace"), entry.get("name")) if p)
                try:
                    arguments = canonical(json.loads(entry.get("arguments") or "{}"))
                except ValueError:
                    arguments = str(entry.get("arguments"))
                items.append(Item("call", arguments, name, entry.get("call_id", "")))
            case "custom_tool_call":
                items.append(
                    Item("call", entry.get("input", ""), entry["name"], entry.get("call_id", ""))
                )
            case "function_call_output" | "custom_tool_call_output":
                text = plain_text(entry.get("output"))
                items.append(Item("result", text, id=entry.get("call_id", "")))
            case _:
                pass
    return items


def _injected(role: str, text: str) -> bool:
    return role == "user" and text.lstrip().startswith(CODEX_INJECTED)


def plain_text(content: Any) -> str:
    """The text of a string, or of a list of blocks that carry a `text`."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts: list[Any] = list(content)
    return "\n".join(
        str(part["text"]) if "text" in part else f"[{part.get('type')}]" for part in parts
    )
