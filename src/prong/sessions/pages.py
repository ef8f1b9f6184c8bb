"""A session in pages, each of which fits a number of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from prong.errors import NotFound, UsageError
from prong.model.record import Record
from prong.model.sessions import Message, Session
from prong.redaction.visible import safe
from prong.sessions.transcript import paired
from prong.transcripts import budget

if TYPE_CHECKING:
    from prong.app import App

_OF_A_MESSAGE = 12
"""Tokens for what stands around its text."""
_OF_A_TOOL = 2_000
"""Characters of what a tool gave back, unless it is wanted in full."""
_LEFT_OUT = "\n[... {} characters left out ...]\n"


class PageWish(Record, frozen=True):
    """Which part of a session is wanted."""

    first: int | None = None
    """The first turn; None: from the beginning."""
    last: int | None = None
    start: int = 0
    """How many messages were read already."""
    tokens: int = 8_000
    output: bool = False
    """With what tools gave back."""
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
    """How many messages were read with this page; None when it is the last one."""


def page(app: App, name: str, wish: PageWish) -> SessionPage:
    """The messages from a place on, as many as fit. There is always one, cut if it must be."""
    found = app.resolve(name)
    turn = None
    if found.turn is not None:
        if wish.first is not None or wish.last is not None:
            raise UsageError("the turn is named twice", hint="leave out what is behind the @")
        turn = app.turn(app.conversation(found.session), found.turn)
        if turn is None:
            raise UsageError("turn 0 is before the first prompt: nothing to read")
    all_ = paired(app.messages(found.session, turn=turn))
    taken: list[PageMessage] = []
    used = 0
    number = -1
    for number, message in enumerate(_wanted(all_, wish)):
        if number < wish.start:
            continue
        room = wish.tokens - used - _OF_A_MESSAGE
        one = _shown(message, wish, budget.characters(max(room, 1)) if not taken else None)
        size = budget.estimate(len(one.text)) + _OF_A_MESSAGE
        if taken and used + size > wish.tokens:
            return SessionPage(found.session, tuple(taken), used, number)
        taken.append(one)
        used += size
    if wish.start > number + 1:
        raise NotFound(f"page {wish.start} does not exist", hint="leave page out for the first one")
    return SessionPage(found.session, tuple(taken), used, None)


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
    """Its beginning and its end."""
    left_out = _LEFT_OUT.format(len(text) - room)
    half = max((room - len(left_out)) // 2, 20)
    return f"{text[:half]}{left_out}{text[-half:]}"
