"""Answers to prompts, even when several senders use the same worker.

A prompt is sent only while the worker is idle, and the ids of its turns are remembered. So the
first new turn with this text belongs to this prompt, and a later one to another sender.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prong.model.record import Record
from prong.model.sessions import Session, Turn, TurnState

if TYPE_CHECKING:
    from prong.app import App
    from prong.model.workers import WorkerInfo


class SentPrompt(Record, frozen=True):
    """Prompt that was sent to a worker."""

    worker: str
    text: str
    session: str | None = None
    """Session id; None while only the agent knows it."""
    typed: str | None = None
    """Text as the agent received it; None for a command, whose turn has another prompt."""
    before: frozenset[str] = frozenset()
    """Ids of the turns before the prompt."""
    run: str | None = None
    """Run of a headless worker that processes this prompt."""


def known_turns(app: App, worker: WorkerInfo) -> frozenset[str]:
    """Return the ids of the turns in a worker's session."""
    session = session_of(app, worker.agent, worker.session)
    return (
        frozenset(turn.id for turn in app.sessions.conversation(session).turns)
        if session
        else frozenset()
    )


def answer(app: App, sent: SentPrompt) -> str | None:
    """Return the answer to a prompt; None while its turn runs or has not begun."""
    session = _session(app, sent)
    if session is None:
        return None
    turns = app.sessions.conversation(session).turns
    turn = _own([item for item in turns if item.id not in sent.before], sent)
    if turn is None or (turn.state is TurnState.RUNNING and turn == turns[-1]):
        return None
    messages = reversed(list(app.sessions.messages(session, turn=turn)))
    return next((item.text for item in messages if item.role == "assistant" and item.text), "")


def _own(new: list[Turn], sent: SentPrompt) -> Turn | None:
    """Find the turn of a prompt; for a command, whose turn has another text, the first turn.

    Another sender's prompt may have come first, so other turns do not count.
    """
    if sent.typed is None:
        return new[0] if new else None
    texts = (sent.text.split(), sent.typed.split())
    return next(
        (
            turn
            for turn in new
            if any(text.split() in texts for text in (turn.prompt, *turn.queued))
        ),
        None,
    )


def session_of(app: App, agent: str, id_: str | None) -> Session | None:
    """Find a session by id; None while it has no file."""
    return next((item for item in app.sessions.all(agent) if item.id == id_), None) if id_ else None


def _session(app: App, sent: SentPrompt) -> Session | None:
    worker = app.workers.named(sent.worker)
    return session_of(app, worker.agent, sent.session or worker.session)
