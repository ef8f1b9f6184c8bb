"""Send prompts and keys to workers, and read their answers."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from math import inf
from typing import TYPE_CHECKING

from prong.errors import Busy, External, Unsupported, UsageError
from prong.model.sessions import Message, Session, TurnState
from prong.model.workers import Route, WorkerInfo, WorkerState, WorkerStatus
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
"""Seconds between looks at a headless worker that is busy with another prompt."""
_READ_AGAIN = 2.0
"""Seconds between searches for the session: after a rewind Codex continues in another file."""
_WRITTEN_WITHIN = 5.0
"""Seconds for the end of a turn to reach the session file after it was reported."""


def send(app: App, worker: WorkerInfo, text: str, *, as_command: bool = False) -> None:
    """Send a prompt to a worker; a busy one takes it after its turn.

    Text that begins like a command of the agent (`!`, `/`) is still a prompt, unless `as_command`
    is set. Raises `Busy` when the worker waits for a person, since the text would be taken as the
    answer.
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
    """Send a prompt to an idle worker, so that its answer can be identified.

    Returns None and sends nothing when the worker is busy.
    """
    text = _something(text)
    if worker.headless:
        return _asked_headless(app, worker, text, as_command=as_command)
    with lock.alone(app, worker.name):
        status = Lookout(app).look([app.workers.named(worker.name)])[0]
        if status.state is WorkerState.BUSY:
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
        updated = headless.turn(app, worker, text, as_command=as_command)
    except Busy:
        return None
    run = headless.run_of(updated)
    return answers.SentPrompt(worker.name, text, updated.session, run=run)


def _something(text: str) -> str:
    text = text.rstrip("\n")
    if not text.strip():
        raise UsageError("nothing to send")
    return text


def interrupt(app: App, worker: WorkerInfo) -> None:
    """Interrupt a worker that is busy or waits for a person."""
    if worker.headless:
        raise Unsupported(f"{worker.name} is headless", hint=f"prong stop --force {worker.name}")
    interruptible = (WorkerState.BUSY, WorkerState.WAITING)
    if app.workers.status(worker.name).state in interruptible:
        press(app, worker, "Escape")


def press(app: App, worker: WorkerInfo, *keys: str) -> None:
    """Press keys in the pane of a worker, whatever its state."""
    if worker.headless:
        raise Unsupported(f"{worker.name} is headless and has no pane", hint="prong send")
    terminal, pane = own_pane(app, worker)
    if not isinstance(terminal, CanPress):
        raise Unsupported(
            f"{terminal.name} does not accept keys from other programs",
            hint=f"prong attach {worker.name}",
        )
    terminal.key(pane, *keys)


# -- answers --------------------------------------------------------------------------------------


def answer(
    app: App, sent: answers.SentPrompt, timeout: float, until: Collection[WorkerState]
) -> tuple[WorkerStatus, str | None]:
    """Wait until the turn of a prompt is over, and return its answer.

    None when the worker reached another state than idle; empty when the prompt started no turn.
    Raises `Busy` on timeout.
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
    """Return the status that ended the wait; None if only this prompt's run is over."""
    from prong.workers import headless

    if sent.run is None:
        return app.workers.wait([sent.worker], timeout=timeout, until=until)[0]
    end = time.monotonic() + timeout
    # A new run begins only after the previous one ended.
    while headless.run_of(app.workers.named(sent.worker)) == sent.run:
        left = max(end - time.monotonic(), 0.0)
        try:
            status = app.workers.wait([sent.worker], timeout=min(left, _LOOK_AGAIN), until=until)[0]
        except Busy:
            if left <= _LOOK_AGAIN:
                raise
            continue
        # Meanwhile another sender's turn may have begun, and failed.
        if headless.run_of(status.worker) == sent.run:
            return status
    return None


def _written_answer(app: App, sent: answers.SentPrompt) -> str:
    text: str | None = None

    def is_written() -> bool:
        nonlocal text
        text = answers.answer(app, sent)
        return text is not None

    # The end of a turn is reported before it is written.
    until(is_written, _WRITTEN_WITHIN, _FOLLOW_EVERY)
    return text or ""


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
    """Return the answer of the last completed turn; empty if none is after `after_turn`."""
    if worker.headless:
        return _headless_answer(app, worker)
    text = ""

    def is_written() -> bool:
        nonlocal text
        session = session_of(app, worker.agent, app.workers.named(worker.name).session)
        if session is None:
            return False
        turns = app.sessions.conversation(session).turns
        completed = [item for item in turns if item.state is not TurnState.RUNNING]
        if not completed or (completed[-1].index or 0) <= after_turn:
            return False
        messages = app.sessions.messages(session, turn=completed[-1])
        text = next(
            (
                item.text
                for item in reversed(list(messages))
                if item.role == "assistant" and item.text
            ),
            "",
        )
        return completed[-1] == turns[-1]

    # The end of a turn is reported before it is written.
    until(is_written, _WRITTEN_WITHIN, _FOLLOW_EVERY)
    return text


def log(app: App, worker: WorkerInfo, *, follow: bool = False) -> Iterator[Message]:
    """Iterate over the messages of a worker's session; with `follow`, until it is gone.

    A seeded fork shows nothing before its first prompt; then the seed comes first, unless followed.
    A session that the worker moves to (/clear) is followed, too.
    """
    seen: list[Message] = []
    session: Session | None = None
    last_signature: tuple[int, int] | None = None
    read = -inf
    lookout = Lookout(app)
    while True:
        # Look before reading the file: a worker that is gone writes nothing more.
        status = lookout.look([app.workers.named(worker.name)])[0] if follow else None
        id_ = status.worker.session if status else worker.session
        is_same = session is not None and session.id == id_
        if (
            not is_same
            or signature_of(session) != last_signature
            or time.monotonic() - read > _READ_AGAIN
        ):
            current = session_of(app, worker.agent, id_)
            if current is not None:
                if not is_same:
                    seen = []
                session, last_signature, read = current, signature_of(current), time.monotonic()
                messages = list(app.sessions.messages(session))
                if not _is_only_a_seed(messages):
                    yield from messages[_common(seen, messages) :]
                seen = messages
        if status is None or status.state is WorkerState.GONE:
            return
        time.sleep(_FOLLOW_EVERY)


def _is_only_a_seed(said: list[Message]) -> bool:
    """Return whether a session contains only a seed and its acknowledgement."""
    prompts = [item.text for item in said if item.role == "user"]
    answer = "".join(item.text for item in said if item.role == "assistant" and item.tool is None)
    return len(prompts) == 1 and acknowledges_seed(prompts[0], answer)


def _common(one: list[Message], other: list[Message]) -> int:
    """Count the leading messages that are equal. After a rewind the rest differs."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
