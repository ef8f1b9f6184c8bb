"""Scripted answers of a fake model server, as frozen values.

Reply(Thinking("hm"), ToolCall("Bash", {"command": "ls"}), ToolCall("Bash", {"command": "id"}))
Reply(Text("part one "), Hold(gate), Text("part two"))
Fail(500)
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Text:
    """A block of answer text."""

    text: str


@dataclass(frozen=True)
class Thinking:
    """A block of reasoning, signed by the server; with "" only the signature is sent."""

    text: str


@dataclass(frozen=True)
class RedactedThinking:
    """A block of encrypted reasoning."""

    data: str


@dataclass(frozen=True)
class ToolCall:
    """A tool call of the model. The server generates the id if none is given."""

    name: str
    input: Mapping[str, Any]
    namespace: str | None = None
    id: str | None = None


@dataclass(frozen=True)
class Hold:
    """A pause until the test sets `release` (or the server is closed)."""

    release: threading.Event


@dataclass(frozen=True)
class Delay:
    """A pause for a fixed time."""

    seconds: float


@dataclass(frozen=True)
class Usage:
    """Token counts that the reply reports."""

    input_tokens: int = 10
    output_tokens: int = 5


Block = Text | Thinking | RedactedThinking | ToolCall | Hold | Delay


@dataclass(frozen=True, init=False)
class Reply:
    """One answer of the model: blocks in order; tool calls in one reply run in parallel."""

    blocks: tuple[Block, ...]
    usage: Usage

    def __init__(self, *blocks: Block, usage: Usage | None = None) -> None:
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "usage", usage or Usage())

    @property
    def calls_tools(self) -> bool:
        """Whether the agent is expected to send tool results."""
        return any(isinstance(block, ToolCall) for block in self.blocks)


@dataclass(frozen=True)
class Fail:
    """An HTTP error instead of an answer. Agents do not retry 400, but may retry 5xx."""

    status: int = 400
    message: str = "fake error"


Answer = Reply | Fail


def say(text: str) -> Reply:
    """Make a reply of one text block."""
    return Reply(Text(text))


def call(name: str, **arguments: Any) -> Reply:
    """Make a reply of one tool call."""
    return Reply(ToolCall(name, arguments))
