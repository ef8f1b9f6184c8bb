"""The answer to one's own prompt, whoever else talks to the worker at the same time.

A prompt is given only while the worker is idle, and the turns that are there then are remembered.
So the first new turn with this prompt is its own: a later one is somebody else's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prong.model.record import Record
from prong.model.sessions import Session, Turn, TurnState

if TYPE_CHECKING:
    from prong.app import App
    from prong.model.workers import WorkerInfo


class SentPrompt(Record, frozen=True):
    """A prompt that was given to a worker."""

    worker: str
    text: str
    session: str | None = None
    """The session that it went to; None while only the agent knows it."""
    typed: str | None = None
    """The text as the agent got it; None for a command, whose turn has another prompt."""
    before: frozenset[str] = frozenset()
    """The ids of the turns that were there."""
    run: str | None = None
    """Of a headless worker: which of its runs is this prompt's."""


def known_turns(app: App, worker: WorkerInfo) -> frozenset[str]:
    """The ids of the turns in the session of a worker."""
    session = session_of(app, worker.agent, worker.session)
    return frozenset(one.id for one in app.conversation(session).turns) if session else frozenset()


def answer(app: App, sent: SentPrompt) -> str | None:
    """What was answered to it; None while its turn runs, or has not begun."""
    session = _session(app, sent)
    if session is None:
        return None
    turns = app.conversation(session).turns
    own = _own([one for one in turns if one.id not in sent.before], sent)
    if own is None or (own.state is TurnState.RUNNING and own == turns[-1]):
        return None
    said = reversed(list(app.messages(session, turn=own)))
    return next((one.text for one in said if one.role == "assistant" and one.text), "")


def _own(new: list[Turn], sent: SentPrompt) -> Turn | None:
    """The turn that a prompt opened; of a command, whose prompt is another text, the first one.

    Another sender's prompt may have come first, so any other turn is not this prompt's.
    """
    if sent.typed is None:
        return new[0] if new else None
    texts = (sent.text.split(), sent.typed.split())
    return next(
        (one for one in new if any(said.split() in texts for said in (one.prompt, *one.queued))),
        None,
    )


def session_of(app: App, agent: str, id_: str | None) -> Session | None:
    """A session; None while it has no file."""
    return next((one for one in app.sessions(agent) if one.id == id_), None) if id_ else None


def _session(app: App, sent: SentPrompt) -> Session | None:
    worker = app.workers.named(sent.worker)
    return session_of(app, worker.agent, sent.session or worker.session)
