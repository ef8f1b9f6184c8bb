"""Parse the output of `claude --print --output-format stream-json`."""

from collections.abc import Iterable

import msgspec

from prong.agents.headless import ProgramAnswer, TurnOutput, events

_SYNTHETIC = "<synthetic>"
"""Model name of messages from Claude Code itself, such as errors."""


class PrintedBlock(msgspec.Struct):
    type: str = ""
    text: str = ""


class PrintedMessage(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    content: list[PrintedBlock] = []


class ClaudeEvent(msgspec.Struct):
    """One line of output. Those of a sub-agent name the call that launched it."""

    type: str = ""
    subtype: str | None = None
    session_id: str | None = None
    parent_tool_use_id: str | None = None
    message: PrintedMessage | None = None
    is_error: bool = False
    result: str | None = None
    errors: list[str] = []


def turn_output(output: Iterable[str]) -> TurnOutput:
    """Parse the last turn."""
    session: str | None = None
    over = False
    messages: dict[str | None, str] = {}
    result: str | None = None
    error: str | None = None
    for event in events(output, ClaudeEvent):
        if isinstance(event, str):
            error = event
            continue
        session = event.session_id or session
        match event.type:
            case "system" if event.subtype == "init":
                over, messages, result, error = False, {}, None, None
            case "result":
                over = True
                reason = event.result or "; ".join(event.errors) or event.subtype or "it failed"
                # API errors look successful but for `is_error`.
                result, error = (None, reason) if event.is_error else (event.result, None)
            case "assistant" if event.message and not event.parent_tool_use_id:
                message = event.message
                if message.model != _SYNTHETIC:
                    # Each block of a message has a line.
                    over, result = False, None
                    text = "".join(block.text for block in message.content if block.type == "text")
                    messages[message.id] = messages.get(message.id, "") + text
            case _:
                pass
    said = [text for text in messages.values() if text]
    return TurnOutput(session, over, result or "".join(said[-1:]), error, "\n".join(said))


def seed_answer(output: Iterable[str]) -> ProgramAnswer:
    return turn_output(output).answer
