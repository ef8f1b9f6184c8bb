"""Transcripts to read: tool calls merged with their results, in pages of limited size."""

from collections.abc import Iterable, Iterator

from prong.errors import NotFound
from prong.model import budget
from prong.model.record import Record, replace
from prong.model.sessions import Message, Session
from prong.redaction.visible import safe

_OF_A_MESSAGE = 12
"""Token overhead of a message."""
_OF_A_TOOL = 2_000
"""Maximum characters of a tool call without its output."""
_LEFT_OUT = "\n[... {} characters left out ...]\n"


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


class PageRequest(Record, frozen=True):
    """Which part of a session to read."""

    first: int | None = None
    """The first turn; None for the beginning."""
    last: int | None = None
    start: int = 0
    """Number of messages to skip."""
    tokens: int = 8_000
    output: bool = False
    """Include tool output."""
    thinking: bool = False


class PageMessage(Record, frozen=True):
    turn: int | None
    role: str
    text: str
    tool: str | None = None
    failed: bool = False
    cut: bool = False


class SessionPage(Record, frozen=True):
    session: Session
    messages: tuple[PageMessage, ...]
    tokens: int
    next: int | None
    """Number of messages read including this page; None for the last page."""


def page(session: Session, messages: Iterable[Message], request: PageRequest) -> SessionPage:
    """Show as many messages as fit, but at least one, cut if necessary."""
    shown: list[PageMessage] = []
    used = 0
    number = -1
    wanted = (message for message in paired(messages) if _is_wanted(message, request))
    for number, message in enumerate(wanted):
        if number < request.start:
            continue
        room = request.tokens - used - _OF_A_MESSAGE
        room = None if shown else budget.characters(max(room, 1))
        page_message = _shown(message, request, room)
        size = budget.estimate(len(page_message.text)) + _OF_A_MESSAGE
        if shown and used + size > request.tokens:
            return SessionPage(session, tuple(shown), used, number)
        shown.append(page_message)
        used += size
    if request.start > number + 1:
        raise NotFound(
            f"page {request.start} does not exist", hint="leave page out for the first one"
        )
    return SessionPage(session, tuple(shown), used, None)


def _is_wanted(message: Message, request: PageRequest) -> bool:
    first, last, at = request.first or 0, request.last, message.turn or 0
    is_inside = first <= at and (last is None or at <= last)
    return is_inside and (request.thinking or message.role != "thinking")


def _shown(message: Message, request: PageRequest, room: int | None) -> PageMessage:
    tool = message.tool
    text = message.text
    is_cut = False
    if tool is not None:
        text = tool.gist or tool.input
        output = tool.output or ""
        if request.output and output:
            text = f"{text}\n{output}"
        elif len(text) > _OF_A_TOOL:
            text, is_cut = _cut(text, _OF_A_TOOL), True
        is_cut = is_cut or bool(output and not request.output)
    text = safe(text)
    if room is not None and len(text) > room:
        text, is_cut = _cut(text, room), True
    name = tool.name if tool else None
    return PageMessage(
        message.turn, message.role, text, name, tool.failed if tool else False, is_cut
    )


def _cut(text: str, room: int) -> str:
    """Shorten a text to its beginning and end."""
    left_out = _LEFT_OUT.format(len(text) - room)
    half = max((room - len(left_out)) // 2, 20)
    return f"{text[:half]}{left_out}{text[-half:]}"
