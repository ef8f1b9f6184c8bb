"""Prompts and keys for workers, and their answers, even when several senders use one worker.

A prompt whose answer is awaited is sent only while the worker is idle, and the ids of its turns are
remembered. So the first new turn with this text belongs to this prompt, and a later one to another
sender.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from math import inf
from pathlib import Path

from prong.agents.stores import AgentStores
from prong.errors import Busy, External, NotFound, Unsupported, UsageError
from prong.files.atomic import held
from prong.model.forks import Launch
from prong.model.record import Record, replace
from prong.model.sessions import Message, Session, Turn, TurnState
from prong.model.workers import NewSession, Route, WorkerInfo, WorkerState, WorkerStatus
from prong.paths import private_dir
from prong.processes.process import is_alive, process_of
from prong.session.service import SessionService
from prong.terminals.base import CanPress
from prong.transcripts.acknowledgement import acknowledges_seed
from prong.workers import headless
from prong.workers.launch import environment
from prong.workers.send import PaneSender, until
from prong.workers.state import Signature, signature_of
from prong.workers.states import ENDS, WorkerStates

_FOLLOW_EVERY = 0.3
_LOOK_AGAIN = 0.5
"""Seconds between looks at a headless worker that is busy with another prompt."""
_READ_AGAIN = 2.0
"""Seconds between searches for the session: after a rewind Codex continues in another file."""
_WRITTEN_WITHIN = 5.0
"""Seconds for the end of a turn to reach the session file after it was reported."""
_PATIENCE = 90.0
"""Seconds: another sender may wait a minute for the agent to start, then paste."""


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


class WorkerPrompts(Record, frozen=True):
    stores: AgentStores
    sessions: SessionService
    states: WorkerStates
    hooked: Callable[[str, Launch], Launch]
    """Adds prong's hooks to the launch of an agent."""

    def send(self, name: str, text: str, *, as_command: bool = False) -> None:
        """Send a prompt to a worker; a busy one takes it after its turn.

        Text that begins like a command of the agent (`!`, `/`) is still a prompt, unless
        `as_command` is set. Raises `Busy` when the worker waits for a person, since the text would
        be taken as the answer.
        """
        text = _something(text)
        if self.states.records.get(name).headless:
            self.start_turn(name, text, as_command=as_command)
            return
        with self.alone(name):
            self._type(self.states.records.get(name), text, as_command=as_command)

    def ask(self, name: str, text: str, *, as_command: bool = False) -> SentPrompt | None:
        """Send a prompt whose answer is awaited; return None if the worker is busy."""
        text = _something(text)
        if self.states.records.get(name).headless:
            try:
                worker = self.start_turn(name, text, as_command=as_command)
            except Busy:
                return None
            return SentPrompt(name, text, worker.session, run=headless.run_of(worker))
        with self.alone(name):
            if self.states.glance(name).state is WorkerState.BUSY:
                return None
            worker = self.states.records.get(name)
            session = self.states.session_of(worker)
            turns = self.sessions.turns(session) if session else ()
            typed = self._type(worker, text, as_command=as_command)
            before = frozenset(turn.id for turn in turns)
            return SentPrompt(name, text, worker.session, None if as_command else typed, before)

    def _type(self, worker: WorkerInfo, text: str, *, as_command: bool) -> str:
        """Type a prompt into the pane; return the text as the agent receives it."""
        store = self.stores.named(worker.agent)
        text = text if as_command else store.as_prompt(text, Route.TYPED)
        sender = PaneSender(self.states, store, worker.name, self.states.lookout())
        sender.send(text, as_command=as_command)
        return text

    def start_turn(
        self,
        name: str,
        text: str,
        env: Mapping[str, str] | None = None,
        *,
        as_command: bool = False,
    ) -> WorkerInfo:
        """Start the next turn of a headless worker, with `env` for it alone, unless it is busy."""
        with self.alone(name):
            # Another sender may have been faster, and only the output may tell the session id.
            worker = self.states.glance(name).worker
            if worker.process is not None and is_alive(worker.process):
                raise Busy(f"{name} is busy", hint=f"prong wait {name}")
            if not worker.workspace.is_dir():
                raise folder_is_gone(worker)
            store = self.stores.named(worker.agent).with_command(worker.command)
            resume = self.states.session_of(worker) is not None
            session = NewSession(worker.session, worker.workspace)
            launch = store.headless(session, resume=resume)
            launch = replace(launch, env=environment.complete(worker, launch, env or {}))
            launch = self.hooked(worker.agent, launch)
            now = datetime.now(UTC)
            # A later worker of the same name gets another file.
            log = worker.log or self._folder / f"{name}-{now:%Y%m%d-%H%M%S-%f}.jsonl"
            prompt = text if as_command else store.as_prompt(text, Route.STDIN)
            child = headless.spawn(launch, prompt, log, now)
            process = process_of(child.pid)
            try:
                return self.states.records.change(
                    name, process=process, log=log, started=now, prompted=now, stopped=None
                )
            except BaseException:
                child.kill()  # otherwise an unrecorded process would run
                raise

    @property
    def _folder(self) -> Path:
        return private_dir(self.states.records.path.parent / "workers")

    @contextmanager
    def alone(self, name: str) -> Generator[None]:
        """Lock a worker: two texts would become one prompt, two programs write one session."""
        with held(self._folder / f"{name}.lock", _PATIENCE) as is_free:
            if not is_free:
                raise Busy(f"another process is talking to {name}", hint=f"prong status {name}")
            yield

    # -- keys --------------------------------------------------------------------------------

    def interrupt(self, name: str) -> None:
        """Interrupt a worker that is busy or waits for a person."""
        if self.states.records.get(name).headless:
            raise Unsupported(f"{name} is headless", hint=f"prong stop --force {name}")
        if self.states.status(name).state in (WorkerState.BUSY, WorkerState.WAITING):
            self.press(name, "Escape")

    def press(self, name: str, *keys: str) -> None:
        """Press keys in the pane of a worker, whatever its state."""
        worker = self.states.records.get(name)
        if worker.headless:
            raise Unsupported(f"{name} is headless and has no pane", hint="prong send")
        terminal, pane = self.states.own_pane(worker)
        if not isinstance(terminal, CanPress):
            raise Unsupported(
                f"{terminal.name} does not accept keys from other programs",
                hint=f"prong attach {name}",
            )
        terminal.key(pane, *keys)

    # -- answers -----------------------------------------------------------------------------

    def answer(
        self, sent: SentPrompt, timeout: float = inf, until: Collection[WorkerState] = ENDS
    ) -> tuple[WorkerStatus, str | None]:
        """Wait until the turn of a prompt is over, and return its answer.

        None when the worker reached another state than idle; empty when the prompt started no turn.
        Raises `Busy` on timeout.
        """
        if sent.run is not None:
            status = self._end_of_run(sent, timeout, until)
            if status is not None and status.state is not WorkerState.IDLE:
                return status, None
            worker = self.states.records.get(sent.worker)
            status = status or self.states.status(sent.worker)
            return status, self._headless_answer(worker, sent.run)
        (status,) = self.states.wait([sent.worker], timeout=timeout, until=until)
        if status.state is not WorkerState.IDLE:
            return status, None

        def look() -> tuple[str | None, bool]:
            answer = self._own_answer(sent)
            return answer, answer is not None

        return status, _once_written(look)

    def _end_of_run(
        self, sent: SentPrompt, timeout: float, until: Collection[WorkerState]
    ) -> WorkerStatus | None:
        """Return the status that ended the wait; None if only this prompt's run is over."""
        end = time.monotonic() + timeout
        # A new run begins only after the previous one ended.
        while headless.run_of(self.states.records.get(sent.worker)) == sent.run:
            left = max(end - time.monotonic(), 0.0)
            try:
                (status,) = self.states.wait(
                    [sent.worker], timeout=min(left, _LOOK_AGAIN), until=until
                )
            except Busy:
                if left <= _LOOK_AGAIN:
                    raise
                continue
            # Meanwhile another sender's turn may have begun, and failed.
            if headless.run_of(status.worker) == sent.run:
                return status
        return None

    def _own_answer(self, sent: SentPrompt) -> str | None:
        """Return the answer to a prompt; None while its turn runs or has not begun."""
        worker = self.states.records.get(sent.worker)
        session = self.states.session_of(replace(worker, session=sent.session or worker.session))
        if session is None:
            return None
        turns = self.sessions.turns(session)
        turn = own_turn([turn for turn in turns if turn.id not in sent.before], sent)
        if turn is None or (turn.state is TurnState.RUNNING and turn == turns[-1]):
            return None
        return self._last_text(session, turn)

    def _headless_answer(self, worker: WorkerInfo, run: str | None = None) -> str:
        events = headless.events(self.stores, worker, run)
        hint = f"prong log {worker.name}"
        if run is not None and not events.is_over:
            raise External(f"the turn of {worker.name} ended before it answered", hint=hint)
        if events.error is not None and not events.reply:
            raise External(f"the turn of {worker.name} failed: {events.error}", hint=hint)
        return events.reply

    def reply(self, name: str, after_turn: int = 0) -> str:
        """Return the answer of the last completed turn; empty if none is after `after_turn`."""
        worker = self.states.records.get(name)
        if worker.headless:
            return self._headless_answer(worker)

        def look() -> tuple[str | None, bool]:
            session = self.states.session_of(self.states.records.get(name))
            if session is None:
                return None, False
            turns = self.sessions.turns(session)
            completed = [turn for turn in turns if turn.state is not TurnState.RUNNING]
            if not completed or (completed[-1].index or 0) <= after_turn:
                return None, False
            return self._last_text(session, completed[-1]), completed[-1] == turns[-1]

        return _once_written(look)

    def _last_text(self, session: Session, turn: Turn) -> str:
        messages = reversed(list(self.sessions.messages(session, turn=turn)))
        return next((item.text for item in messages if item.role == "assistant" and item.text), "")

    # -- log ---------------------------------------------------------------------------------

    def log(self, name: str, *, follow: bool = False) -> Iterator[Message]:
        """Iterate over the messages of a worker's session; with `follow`, until it is gone.

        A seeded fork shows nothing before its first prompt; then the seed comes first, unless
        followed. A session that the worker moves to (/clear) is followed, too.
        """
        worker = self.states.records.get(name)
        seen: list[Message] = []
        session: Session | None = None
        last_signature: Signature | None = None
        read = -inf
        lookout = self.states.lookout()
        while True:
            # Look before reading the file: a worker that is gone writes nothing more.
            status = lookout.look([self.states.records.get(worker.name)])[0] if follow else None
            id_ = status.worker.session if status else worker.session
            is_same = session is not None and session.id == id_
            is_unchanged = is_same and signature_of(session) == last_signature
            if not is_unchanged or time.monotonic() - read > _READ_AGAIN:
                current = self.states.session_of(replace(worker, session=id_))
                if current is not None:
                    if not is_same:
                        seen = []
                    session, last_signature = current, signature_of(current)
                    read = time.monotonic()
                    messages = list(self.sessions.messages(session))
                    if not _is_only_a_seed(messages):
                        yield from messages[_common(seen, messages) :]
                    seen = messages
            if status is None or status.state is WorkerState.GONE:
                return
            time.sleep(_FOLLOW_EVERY)


def own_turn(new: Sequence[Turn], sent: SentPrompt) -> Turn | None:
    """Find the turn of a prompt among others'; that of a command has another text, so the first."""
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


def folder_is_gone(worker: WorkerInfo) -> NotFound:
    return NotFound(
        f"the folder of {worker.name} no longer exists: {worker.workspace}",
        hint=f"prong fork {worker.name} --into DIR uses another folder",
    )


def _something(text: str) -> str:
    text = text.rstrip("\n")
    if not text.strip():
        raise UsageError("nothing to send")
    return text


def _once_written(look: Callable[[], tuple[str | None, bool]]) -> str:
    """Return a text once it is final: the end of a turn is reported before it is written."""
    text: str | None = None

    def is_written() -> bool:
        nonlocal text
        seen, is_final = look()
        text = text if seen is None else seen
        return is_final

    until(is_written, _WRITTEN_WITHIN, _FOLLOW_EVERY)
    return text or ""


def _is_only_a_seed(messages: list[Message]) -> bool:
    prompts = [item.text for item in messages if item.role == "user"]
    answer = "".join(
        item.text for item in messages if item.role == "assistant" and item.tool is None
    )
    return len(prompts) == 1 and acknowledges_seed(prompts[0], answer)


def _common(one: list[Message], other: list[Message]) -> int:
    """Count the leading messages that are equal. After a rewind the rest differs."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
