"""Parse the output of `claude --print --output-format stream-json`."""

from collections.abc import Iterable

import msgspec

from prong.agents import headless
from prong.agents.headless import NOTHING_SAID, ProgramAnswer, TurnOutput, events

_SYNTHETIC = "<synthetic>"
"""Model name of messages from Claude Code itself, such as errors."""


class PrintedBlock(msgspec.Struct):
    type: str = ""
    text: str = ""


class PrintedMessage(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    content: list[PrintedBlock] = []

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.content if block.type == "text")


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

    @property
    def said(self) -> PrintedMessage | None:
        """What the model said: a block of a message, which has a line for each."""
        if self.type != "assistant" or self.message is None or self.parent_tool_use_id:
            return None
        return self.message if self.message.model != _SYNTHETIC else None

    def failure(self, unknown: str) -> str | None:
        """Return the error of a result. API errors look successful but for `is_error`."""
        return self.result or "; ".join(self.errors) or self.subtype or unknown


def seed_answer(output: Iterable[str]) -> ProgramAnswer:
    """Parse the answer to a seed."""
    session_id: str | None = None
    end: ClaudeEvent | None = None
    messages: dict[str | None, str] = {}
    for event in events(output, ClaudeEvent):
        session_id = session_id or event.session_id
        if event.type == "result":
            end = event
        elif said := event.said:
            messages[said.id] = messages.get(said.id, "") + said.text
    text = "\n".join(filter(None, messages.values()))
    error = None if end and text else NOTHING_SAID
    if end and end.is_error:
        error = end.failure(NOTHING_SAID)
    return ProgramAnswer(session_id, text, error)


def turn_output(output: Iterable[str]) -> TurnOutput:
    """Parse the last turn."""
    session: str | None = None
    over = False
    last: tuple[str | None, str] = (None, "")
    error: str | None = None
    for line in headless.lines_of(output):
        if not headless.is_event(line):
            error = headless.complaint(line) or error
            continue
        for event in events([line], ClaudeEvent):
            session = event.session_id or session
            if event.type == "system" and event.subtype == "init":
                over, last, error = False, (None, ""), None
            elif event.type == "result":
                over = True
                error = event.failure("it failed") if event.is_error else None
                if event.result and not error:
                    last = (None, event.result)
            elif said := event.said:
                over = False
                text = said.text
                last = (said.id, last[1] + text if last[0] == said.id else text or last[1])
    return TurnOutput(session, over, last[1], error)
