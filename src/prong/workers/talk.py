"""Talking with workers: prompts and keys into their panes, and what they say."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from math import inf
from typing import TYPE_CHECKING

from prong.agents.worker_base import Route
from prong.errors import Busy, External, Unsupported, UsageError
from prong.model.sessions import Message, Session, TurnState
from prong.model.workers import WorkerInfo, WorkerState, WorkerStatus
from prong.terminals.base import CanPress
from prong.transcripts.acknowledgement import acknowledges_seed
from prong.workers import answers, lock
from prong.workers import send as worker_sending
from prong.workers.answers import session_of
from prong.workers.send import own_pane, until
from prong.workers.state import Lookout, signature_of

if TYPE_CHECKING:
    from prong.app import App

_FOLLOW_EVERY = 0.3
_LOOK_AGAIN = 0.5
"""Seconds after which a headless worker that is at work for others is looked at again."""
_READ_AGAIN = 2.0
"""Seconds after which a session is looked for anew: after a rewind Codex goes on in another file.
"""
_WRITTEN_WITHIN = 5.0
"""Seconds in which the end of a turn comes to the session after it was told."""


def send(app: App, worker: WorkerInfo, text: str, *, as_command: bool = False) -> None:
    """Give a worker its next prompt; one that works takes it when it is done.

    What begins like a command of the agent (`!`, `/`) is a text all the same, unless it is sent
    as one. Raises `Busy` when the worker waits for an answer of a person, since the text would be
    that answer.
    """
    text = _something(text)
    if worker.headless:
        from prong.workers import headless

        headless.turn(app, worker, text, as_command=as_command)
        return
    with lock.alone(app, worker.name):
        worker_sending.send(app, worker, text, as_command=as_command)


def ask(
    app: App, worker: WorkerInfo, text: str, *, as_command: bool = False
) -> answers.SentPrompt | None:
    """Give an idle worker a prompt, so that its answer can be told from others.

    None when it is at work: then nothing was sent.
    """
    text = _something(text)
    if worker.headless:
        return _asked_headless(app, worker, text, as_command=as_command)
    with lock.alone(app, worker.name):
        look = Lookout(app).look([app.workers.named(worker.name)])[0]
        if look.state is WorkerState.BUSY:
            return None
        worker = app.workers.named(worker.name)
        before = answers.known_turns(app, worker)
        worker_sending.send(app, worker, text, as_command=as_command)
        typed = None if as_command else worker_sending.literal(app, worker, text, Route.TYPED)
        return answers.SentPrompt(worker.name, text, worker.session, typed, before)


def _asked_headless(
    app: App, worker: WorkerInfo, text: str, *, as_command: bool
) -> answers.SentPrompt | None:
    from prong.workers import headless

    try:
        started = headless.turn(app, worker, text, as_command=as_command)
    except Busy:
        return None
    run = headless.run_of(started)
    return answers.SentPrompt(worker.name, text, started.session, run=run)


def _something(text: str) -> str:
    text = text.rstrip("\n")
    if not text.strip():
        raise UsageError("nothing to send")
    return text


def interrupt(app: App, worker: WorkerInfo) -> None:
    """Ask a worker that is at work, or that waits for a person, to end its turn."""
    if worker.headless:
        raise Unsupported(f"{worker.name} is headless", hint=f"prong stop --force {worker.name}")
    at_work = (WorkerState.BUSY, WorkerState.WAITING)
    if app.workers.status(worker.name).state in at_work:
        press(app, worker, "Escape")


def press(app: App, worker: WorkerInfo, *keys: str) -> None:
    """Press keys in the pane of a worker, whatever it does."""
    if worker.headless:
        raise Unsupported(f"{worker.name} is headless and has no pane", hint="prong send")
    terminal, pane = own_pane(app, worker)
    if not isinstance(terminal, CanPress):
        raise Unsupported(
            f"{terminal.name} does not accept keys from other programs",
            hint=f"prong attach {worker.name}",
        )
    terminal.key(pane, *keys)


# -- what is said ---------------------------------------------------------------------------------


def answer(
    app: App, sent: answers.SentPrompt, timeout: float, until: Collection[WorkerState]
) -> tuple[WorkerStatus, str | None]:
    """Wait until the turn of a prompt is over; what was answered to it.

    None when the worker came to another state than idle instead; empty when the prompt opened no
    turn. Raises `Busy` when the time is up.
    """
    status = _finished(app, sent, timeout, until)
    if status is not None and status.state is not WorkerState.IDLE:
        return status, None
    if sent.run is not None:
        worker = app.workers.named(sent.worker)
        return status or app.workers.status(sent.worker), _headless_answer(app, worker, sent.run)
    assert status is not None
    return status, _written_answer(app, sent)


def _finished(
    app: App, sent: answers.SentPrompt, timeout: float, until: Collection[WorkerState]
) -> WorkerStatus | None:
    """What a worker came to; None when only the run of the prompt is known to be over."""
    from prong.workers import headless

    if sent.run is None:
        return app.workers.wait([sent.worker], timeout=timeout, until=until)[0]
    end = time.monotonic() + timeout
    # A turn begins when the one before it has ended.
    while headless.run_of(app.workers.named(sent.worker)) == sent.run:
        left = max(end - time.monotonic(), 0.0)
        try:
            found = app.workers.wait([sent.worker], timeout=min(left, _LOOK_AGAIN), until=until)[0]
        except Busy:
            if left <= _LOOK_AGAIN:
                raise
            continue
        # Meanwhile somebody else's turn may have begun, and ended badly.
        if headless.run_of(found.worker) == sent.run:
            return found
    return None


def _written_answer(app: App, sent: answers.SentPrompt) -> str:
    found: str | None = None

    def is_written() -> bool:
        nonlocal found
        found = answers.answer(app, sent)
        return found is not None

    # The end of a turn is told before it is written.
    until(is_written, _WRITTEN_WITHIN, _FOLLOW_EVERY)
    return found or ""


def _headless_answer(app: App, worker: WorkerInfo, run: str | None = None) -> str:
    from prong.workers import headless

    events = headless.events(app, worker, run)
    if run is not None and not events.is_over:
        raise External(
            f"the turn of {worker.name} ended before it answered", hint=f"prong log {worker.name}"
        )
    if events.error is not None and not events.reply:
        hint = f"prong log {worker.name}"
        raise External(f"the turn of {worker.name} failed: {events.error}", hint=hint)
    return events.reply


def reply(app: App, worker: WorkerInfo, after_turn: int = 0) -> str:
    """The last answer of the last turn that is over; empty when none is behind that number."""
    if worker.headless:
        return _headless_answer(app, worker)
    found = ""

    def is_written() -> bool:
        nonlocal found
        session = session_of(app, worker.agent, app.workers.named(worker.name).session)
        if session is None:
            return False
        turns = app.conversation(session).turns
        over = [one for one in turns if one.state is not TurnState.RUNNING]
        if not over or (over[-1].index or 0) <= after_turn:
            return False
        said = app.messages(session, turn=over[-1])
        found = next(
            (one.text for one in reversed(list(said)) if one.role == "assistant" and one.text), ""
        )
        return over[-1] == turns[-1]

    # The end of a turn is told before it is written.
    until(is_written, _WRITTEN_WITHIN, _FOLLOW_EVERY)
    return found


def log(app: App, worker: WorkerInfo, *, follow: bool = False) -> Iterator[Message]:
    """What was said in a worker's session; with `follow` also what will be, until it is gone.

    As long as it was given nothing but a seed, that is nothing; later the seed comes first, unless
    it is followed.

    A session that it goes over to (/clear) is followed as well.
    """
    seen: list[Message] = []
    session: Session | None = None
    signature: tuple[int, int] | None = None
    read = -inf
    lookout = Lookout(app)
    while True:
        # Before the file is read: nothing comes after the end.
        status = lookout.look([app.workers.named(worker.name)])[0] if follow else None
        id_ = status.worker.session if status else worker.session
        is_same = session is not None and session.id == id_
        if (
            not is_same
            or signature_of(session) != signature
            or time.monotonic() - read > _READ_AGAIN
        ):
            found = session_of(app, worker.agent, id_)
            if found is not None:
                if not is_same:
                    seen = []
                session, signature, read = found, signature_of(found), time.monotonic()
                said = list(app.messages(session))
                if not _is_only_a_seed(said):
                    yield from said[_common(seen, said) :]
                seen = said
        if status is None or status.state is WorkerState.GONE:
            return
        time.sleep(_FOLLOW_EVERY)


def _is_only_a_seed(said: list[Message]) -> bool:
    """Whether nothing was asked but a seed, and nothing was said but that it was read."""
    asked = [one.text for one in said if one.role == "user"]
    answer = "".join(one.text for one in said if one.role == "assistant" and one.tool is None)
    return len(asked) == 1 and acknowledges_seed(asked[0], answer)


def _common(one: list[Message], other: list[Message]) -> int:
    """How many of the first messages are the same. After a rewind those behind are others."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
