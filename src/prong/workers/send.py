"""Pasting a prompt into a worker's pane and pressing Enter until the UI takes it.

The worker's process is checked right before, so that nothing is typed into another program's pane.
Enter is a key of its own after the paste. It is pressed only when the text is alone in the input
line, as far as that can be seen: a person's draft must not be sent.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

from prong.agents.base import AgentStore
from prong.errors import Busy, External, ProngError, Unsupported
from prong.log import debug
from prong.model.record import Record, field
from prong.model.workers import Pane, WorkerState, WorkerStatus
from prong.terminals.base import CanCapture, CanPress, CanSend, HasCursor, Terminal
from prong.workers.evidence import ENDING
from prong.workers.state import Lookout
from prong.workers.states import WorkerStates

_PLACEHOLDER = "[Pasted "
"""Shown by Claude Code and Codex instead of a long text."""
_MARK = re.compile(r"\[Pasted [^\]]*\]")
_CUT = re.compile(r"\[\.\.\.[^\]]*\.\.\.\]")
"""Shown by Claude Code instead of the middle of a very long text."""
_ENDS = (24, 12, 6)
"""Numbers of last characters of a text to look for: a UI wraps anywhere."""
_DRAWN_ALIKE = ("L", "N", "P", "Sm", "Sc", "Sk")
"""Unicode categories that a screen shows unchanged; not spaces and emoji."""


class InputLine:
    """Input line of a UI, observed by what a paste changes on the screen.

    Where the agent's UI is known, also by its contents: `input_on`.
    """

    def __init__(self, terminal: Terminal, pane: Pane, agent: AgentStore) -> None:
        """Capture the screen before the paste."""
        self._terminal = terminal
        self._pane = pane
        self._agent = agent
        self._before = Counter(self._lines())
        self._shown: list[str] = []
        self.before = self.text()
        """Text before the paste: nothing, a draft, or a suggestion of the agent."""

    @property
    def is_known(self) -> bool:
        """True if the text was seen on the screen."""
        return bool(self._shown)

    def shows(self, text: str) -> bool:
        """Return whether the end of the text, or its placeholder, is new on the screen."""
        lines = self._lines()
        now = Counter(lines)
        last = text.rstrip().rpartition("\n")[2].strip()
        pieces = [_PLACEHOLDER, *(last[-length:] for length in _ENDS)]
        for row in reversed(range(len(lines))):
            is_new = now[lines[row]] > self._before[lines[row]]
            if is_new and any(piece in lines[row] for piece in pieces):
                self._shown = lines[row:]
                return True
        return False

    def is_taken(self) -> bool:
        """Return whether the text has left its place; earlier prompts further up look the same."""
        if not self._shown:
            return False
        lines = self._lines()
        height = len(self._shown)
        near = lines[max(0, len(lines) - height - 1) :][:3]
        left = sum(1 for line in self._shown if line in lines[-height - 1 :])
        return self._shown[0] not in near or left < height / 2

    # -- contents ------------------------------------------------------------------------------

    def text(self) -> str | None:
        """Return the text in the input line; None if it cannot be read."""
        screen = "\n".join(self._lines())
        return self._agent.input_on(screen) if screen else None

    def holds_draft(self) -> bool:
        """Return whether a person's draft is there; a suggestion has the cursor in front of it."""
        text = self.text()
        if not text or not isinstance(self._terminal, HasCursor):
            return False
        if text == "!":  # shell mode without a command
            return True
        try:
            return self._terminal.cursor_column(self._pane) != self._agent.input_column
        except ProngError as error:
            debug(__name__, "the cursor in %s is not told: %s", self._pane, error)
            return False

    def holds_only(self, text: str) -> bool:
        """Return whether only the text, or its visible part, is there; True if unreadable."""
        shown = self.text()
        if shown is None:
            return True
        if _MARK.search(shown):
            return not _drawn(_MARK.sub("", shown))
        return all(_drawn(piece) in _drawn(text) for piece in _CUT.split(shown))

    def has_mark(self) -> bool:
        """Return whether a placeholder stands for the whole of a long text."""
        return bool(_MARK.search(self.text() or ""))

    def _lines(self) -> list[str]:
        if not isinstance(self._terminal, CanCapture):
            return []
        return self._terminal.capture(self._pane).splitlines()


def presses(text: str) -> int:
    """Return how often to press Backspace at least: a non-ASCII character may go with a letter."""
    return sum(1 for char in text if char == "\n" or " " <= char <= "~")


def _drawn(text: str) -> str:
    """Return the characters of a text that a screen shows unchanged."""
    text = unicodedata.normalize("NFC", text)
    return "".join(char for char in text if unicodedata.category(char).startswith(_DRAWN_ALIKE))


_LOOK_EVERY = 0.05
_STARTS_WITHIN = 60.0
_SHOWN_WITHIN = 2.0
"""Seconds for a UI to show a paste."""
_SETTLE = 0.2
"""Seconds before Enter: Codex takes faster keys for a part of the paste."""
_TAKEN_WITHIN = 3.0
"""Seconds for a UI to take Enter."""
_PRESSES = 3
_DRAWN_WITHIN = 0.4
"""Seconds for a UI to draw the effect of a key."""
_MOST_PRESSES = 2000
"""Longer texts are shown as one placeholder, or cannot be deleted."""
_MORE_PRESSES = 100
"""Extra presses to delete a text: a UI's idea of one character is unknown."""


def until(wanted: Callable[[], bool], seconds: float, every: float = _LOOK_EVERY) -> bool:
    """Poll a condition; return False on timeout."""
    end = time.monotonic() + seconds
    while not wanted():
        if time.monotonic() > end:
            return False
        time.sleep(every)
    return True


class PaneSender(Record):
    """Sends one text to the UI of a worker."""

    states: WorkerStates
    store: AgentStore
    name: str
    lookout: Lookout
    marked: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When the prompt was sent. Evidence of idle must be newer."""

    def send(self, text: str, *, as_command: bool) -> None:
        """Send the text. Raises `Busy` when the worker waits for input from a person."""
        end = time.monotonic() + _STARTS_WITHIN
        while self._status().state is WorkerState.STARTING and time.monotonic() < end:
            time.sleep(_LOOK_EVERY)
        before = self.states.records.get(self.name)
        try:
            self._type(text, is_slash=as_command and text.lstrip().startswith("/"))
        except BaseException:
            if not self._has_begun():
                previous = {"prompted": before.prompted, "commanded": before.commanded}
                self.states.records.change(self.name, **previous)
            raise

    def _type(self, text: str, *, is_slash: bool) -> None:
        """Paste the text and press Enter, repeatedly if the UI misses it."""
        terminal, pane = self._free_pane()
        if not isinstance(terminal, CanSend) or not isinstance(terminal, CanPress):
            raise Unsupported(
                f"{terminal.name} does not accept text from other programs",
                hint=f"prong attach {self.name}",
            )
        line = InputLine(terminal, pane, self.store)
        if not until(lambda: not line.holds_draft(), _DRAWN_WITHIN):
            raise self._is_a_draft()
        self._mark(is_slash=is_slash)
        terminal.send(pane, text)
        until(lambda: line.shows(text), _SHOWN_WITHIN)
        if not until(lambda: line.holds_only(text), _DRAWN_WITHIN):
            raise self._is_a_draft(left=not _take_out(terminal, pane, line, text, is_alone=False))
        for _ in range(_PRESSES):
            time.sleep(_SETTLE)
            self._free_pane()
            # Mark again: a turn that ended since the paste is not this prompt's.
            self._mark(is_slash=is_slash)
            terminal.key(pane, "Enter")
            if until(lambda: line.is_taken() or self._has_begun(), _TAKEN_WITHIN):
                return
            if not line.is_known:
                # It cannot be seen whether Enter was taken; another one may answer a question.
                return
        # Otherwise the next text would be sent together with this one.
        self._free_pane()
        is_out = _take_out(terminal, pane, line, text, is_alone=True)
        outcome = "and was removed again" if is_out else "and is still in it"
        raise External(
            f"the pane of {self.name} does not take Enter: the text was not sent, {outcome}",
            hint=f"prong attach {self.name}",
        )

    def _has_begun(self) -> bool:
        evidence = self._status().evidence
        if evidence.state is WorkerState.GONE:
            return True
        is_new = evidence.time is not None and evidence.time > self.marked
        is_work = evidence.state in (WorkerState.BUSY, WorkerState.WAITING)
        return is_new and is_work and evidence.source != "prompt" and evidence.detail != ENDING

    def _mark(self, *, is_slash: bool) -> None:
        self.marked = datetime.now(UTC)
        self.states.records.change(self.name, prompted=self.marked, commanded=is_slash)

    def _is_a_draft(self, *, left: bool = False) -> Busy:
        addition = "; the text is in it now, too" if left else ""
        return Busy(
            f"something is typed in the pane of {self.name} already: the text would be sent "
            f"together with it{addition}",
            hint=f"prong attach {self.name}, or: prong key {self.name} C-u",
        )

    def _free_pane(self) -> tuple[Terminal, Pane]:
        """Return the pane; raise `Busy` if it shows a dialog that the text would answer."""
        status = self._status()
        worker = status.worker
        question = status.evidence.detail
        is_asking = status.state is WorkerState.WAITING
        if not is_asking and worker.pane is not None:
            # A dialog without a hook event may be on the screen.
            terminal = self.states.terminals.of(worker.pane)
            if isinstance(terminal, CanCapture) and status.state is not WorkerState.GONE:
                question = self.store.dialog_on(terminal.capture(worker.pane))
                is_asking = question is not None
        if is_asking:
            detail = f" ({question})" if question else ""
            raise Busy(
                f"{self.name} is waiting for input{detail}: the text would be taken as the answer",
                hint=f"prong attach {self.name}",
            )
        return self.states.own_pane(worker)

    def _status(self) -> WorkerStatus:
        return self.lookout.look([self.states.records.get(self.name)])[0]


def _take_out(
    terminal: CanPress, pane: Pane, line: InputLine, text: str, *, is_alone: bool
) -> bool:
    """Delete the pasted text from the input line and keep the rest; False if impossible."""
    count = 1 if line.has_mark() else presses(text)
    if line.before is None or count > _MOST_PRESSES:
        return False
    # The cursor is after the paste, but Codex puts it before a text that it did not take.
    keys = ("BSpace", "DC") if is_alone else ("BSpace",)
    remaining = {line.before, ""} if is_alone else {line.before}
    terminal.key(pane, *(key for key in keys for _ in range(count)))
    for _ in range(_MORE_PRESSES):
        if until(lambda: line.text() in remaining, _DRAWN_WITHIN):
            return True
        if not is_alone and len(line.text() or "") <= len(line.before):
            return False
        terminal.key(pane, *keys)
    return False
