"""Transcript pages of a limited number of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prong.errors import NotFound, UsageError
from prong.model.record import Record
from prong.model.sessions import Message, Session
from prong.redaction.visible import safe
from prong.session.transcript import paired
from prong.transcripts import budget

if TYPE_CHECKING:
    from prong.app import App

_OF_A_MESSAGE = 12
"""Token overhead of a message."""
_OF_A_TOOL = 2_000
"""Maximum characters of a tool call without its output."""
_LEFT_OUT = "\n[... {} characters left out ...]\n"


class PageWish(Record, frozen=True):
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


def page(app: App, name: str, wish: PageWish) -> SessionPage:
    """Read as many messages as fit, but at least one, cut if necessary."""
    resolved = app.sessions.resolve(name)
    turn = None
    if resolved.turn is not None:
        if wish.first is not None or wish.last is not None:
            raise UsageError("the turn is named twice", hint="leave out what is behind the @")
        turn = app.sessions.turn(app.sessions.conversation(resolved.session), resolved.turn)
        if turn is None:
            raise UsageError("turn 0 is before the first prompt: nothing to read")
    messages = paired(app.sessions.messages(resolved.session, turn=turn))
    shown: list[PageMessage] = []
    used = 0
    number = -1
    for number, message in enumerate(_wanted(messages, wish)):
        if number < wish.start:
            continue
        room = wish.tokens - used - _OF_A_MESSAGE
        page_message = _shown(message, wish, budget.characters(max(room, 1)) if not shown else None)
        size = budget.estimate(len(page_message.text)) + _OF_A_MESSAGE
        if shown and used + size > wish.tokens:
            return SessionPage(resolved.session, tuple(shown), used, number)
        shown.append(page_message)
        used += size
    if wish.start > number + 1:
        raise NotFound(f"page {wish.start} does not exist", hint="leave page out for the first one")
    return SessionPage(resolved.session, tuple(shown), used, None)


def _wanted(messages: Iterator[Message], wish: PageWish) -> Iterator[Message]:
    for message in messages:
        if message.role == "thinking" and not wish.thinking:
            continue
        at = message.turn or 0
        if wish.first is not None and at < wish.first:
            continue
        if wish.last is not None and at > wish.last:
            continue
        yield message


def _shown(message: Message, wish: PageWish, room: int | None) -> PageMessage:
    tool = message.tool
    text = message.text
    is_cut = False
    if tool is not None:
        text = tool.gist or tool.input
        output = tool.output or ""
        if wish.output and output:
            text = f"{text}\n{output}"
        elif len(text) > _OF_A_TOOL:
            text, is_cut = _cut(text, _OF_A_TOOL), True
        is_cut = is_cut or bool(output and not wish.output)
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
