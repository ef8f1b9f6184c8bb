"""Transcripts as people read them."""

from collections.abc import Iterable, Iterator

from prong.model.record import replace
from prong.model.sessions import Message


def paired(messages: Iterable[Message]) -> Iterator[Message]:
    """Tool calls together with their results, as one message; a turn at a time."""
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
            # A result whose call was lost is still worth showing.
            yield message
