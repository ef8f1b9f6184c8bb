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

from prong.model.record import Record


class Text(Record, frozen=True):
    text: str


class Thinking(Record, frozen=True):
    """A block of reasoning, signed by the server; with "" only the signature is sent."""

    text: str


class RedactedThinking(Record, frozen=True):
    data: str


class ToolCall(Record, frozen=True):
    """A tool call of the model. The server generates the id if none is given."""

    name: str
    input: Mapping[str, Any]
    namespace: str | None = None
    id: str | None = None


class Hold(Record, frozen=True):
    """A pause until the test sets `release` (or the server is closed)."""

    release: threading.Event


class Delay(Record, frozen=True):
    seconds: float


class Usage(Record, frozen=True):
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


class Fail(Record, frozen=True):
    """An HTTP error instead of an answer. Agents do not retry 400, but may retry 5xx."""

    status: int = 400
    message: str = "fake error"


Answer = Reply | Fail


def say(text: str) -> Reply:
    return Reply(Text(text))


def call(name: str, **arguments: Any) -> Reply:
    return Reply(ToolCall(name, arguments))
