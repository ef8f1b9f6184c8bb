"""Event types in the output of `claude --print --output-format stream-json`."""

import msgspec


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
