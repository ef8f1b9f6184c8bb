"""Readable transcripts: tool calls merged with their results."""

from collections.abc import Iterable, Iterator

from prong.model.record import replace
from prong.model.sessions import Message


def paired(messages: Iterable[Message]) -> Iterator[Message]:
    """Merge each tool call with its result into one message, turn by turn."""
    waiting: list[Message] = []
    for message in messages:
        if waiting and waiting[-1].turn != message.turn:
            yield from _pair(waiting)
            waiting = []
        waiting.append(message)
    yield from _pair(waiting)


def _pair(turn: list[Message]) -> Iterator[Message]:
    results = {
        message.tool.id: message.tool for message in turn if message.tool and message.role == "tool"
    }
    called: set[str] = set()
    for message in turn:
        tool = message.tool
        if tool is None:
            yield message
        elif message.role == "assistant":
            called.add(tool.id)
            result = results.get(tool.id)
            if result is not None:
                tool = replace(
                    tool, output=result.output, failed=result.failed, exit_code=result.exit_code
                )
            yield replace(message, role="tool", tool=tool)
        elif tool.id not in called:
            # Show a result even if its call was lost.
            yield message
