"""One prompt on its way into a worker's pane: pasted, then Enter, until the UI has taken it.

Nothing is ever typed into a pane that is not the worker's own: its process is looked at right
before. A text is pasted, so the UI takes it as one, and Enter is a key of its own behind it. It is
pressed only when the text is alone in the line for input, as far as that can be seen: what a person
has typed there is not ours to send.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from prong.agents.worker_base import HasCommands, HasDialogs, HasInput, Route
from prong.errors import Busy, External, ProngError, Unavailable, Unsupported
from prong.log import debug
from prong.model.workers import Pane, WorkerInfo, WorkerState, WorkerStatus
from prong.terminals.base import CanCapture, CanPress, CanSend, HasCursor, Terminal
from prong.workers import liveness
from prong.workers.evidence import ENDING
from prong.workers.state import Lookout

if TYPE_CHECKING:
    from prong.app import App


_PLACEHOLDER = "[Pasted "
"""What Claude Code and Codex show instead of a long text."""
_MARK = re.compile(r"\[Pasted [^\]]*\]")
_CUT = re.compile(r"\[\.\.\.[^\]]*\.\.\.\]")
"""What Claude Code shows instead of the middle of a very long one."""
_ENDS = (24, 12, 6)
"""So many of a text's last characters are looked for: a UI wraps where it likes."""
_DRAWN_ALIKE = ("L", "N", "P", "Sm", "Sc", "Sk")
"""The kinds of characters that come back from a screen as they were; not spaces and emoji."""


class InputLine:
    """Looked at from outside, by what a paste changes on the screen.

    Where the agent's UI is known, also by what stands there: `HasInput`.
    """

    def __init__(self, terminal: Terminal, pane: Pane, agent: object) -> None:
        """To be made before the paste."""
        self._terminal = terminal
        self._pane = pane
        self._agent = agent if isinstance(agent, HasInput) else None
        self._before = Counter(self._lines())
        self._shown: list[str] = []
        self.before = self.text()
        """What stood there: nothing, a draft, or what the agent suggests."""

    @property
    def is_known(self) -> bool:
        """True when the text was seen there."""
        return bool(self._shown)

    def shows(self, text: str) -> bool:
        """True when the end of the text, or what stands for it, is on the screen since then."""
        lines = self._lines()
        now = Counter(lines)
        last = text.rstrip().rpartition("\n")[2].strip()
        wanted = [_PLACEHOLDER, *(last[-length:] for length in _ENDS)]
        for at in reversed(range(len(lines))):
            is_new = now[lines[at]] > self._before[lines[at]]
            if is_new and any(one in lines[at] for one in wanted):
                self._shown = lines[at:]
                return True
        return False

    def is_taken(self) -> bool:
        """True when the text no longer stands where it was seen.

        What was said before stands further up, and looks the same. A hint below may come and go.
        """
        if not self._shown:
            return False
        lines = self._lines()
        height = len(self._shown)
        near = lines[max(0, len(lines) - height - 1) :][:3]
        left = sum(1 for line in self._shown if line in lines[-height - 1 :])
        return self._shown[0] not in near or left < height / 2

    # -- what stands there ---------------------------------------------------------------------

    def text(self) -> str | None:
        """What stands there; None when that is not to be seen."""
        screen = "\n".join(self._lines())
        return self._agent.input_on(screen) if self._agent and screen else None

    def holds_draft(self) -> bool:
        """True when somebody has typed something there, for certain.

        What the agent suggests there is no draft: the cursor is in front of it.
        """
        text = self.text()
        if not text or self._agent is None or not isinstance(self._terminal, HasCursor):
            return False
        if text == "!":  # the mode alone
            return True
        try:
            return self._terminal.cursor_column(self._pane) != self._agent.input_column
        except ProngError as error:
            debug(__name__, "the cursor in %s is not told: %s", self._pane, error)
            return False

    def holds_only(self, text: str) -> bool:
        """True when nothing but the text is there, or as much of it as has room; or who knows."""
        found = self.text()
        if found is None:
            return True
        if _MARK.search(found):
            return not _drawn(_MARK.sub("", found))
        return all(_drawn(piece) in _drawn(text) for piece in _CUT.split(found))

    def has_mark(self) -> bool:
        """True when one thing stands there for the whole of a long text."""
        return bool(_MARK.search(self.text() or ""))

    def _lines(self) -> list[str]:
        if not isinstance(self._terminal, CanCapture):
            return []
        return self._terminal.capture(self._pane).splitlines()


def presses(text: str) -> int:
    """How often Backspace is pressed at least to take a text away.

    What is not ASCII may be a part of the letter before, and go away together with it.
    """
    return sum(1 for one in text if one == "\n" or " " <= one <= "~")


def _drawn(text: str) -> str:
    """The characters of a text that a screen gives back as they were."""
    text = unicodedata.normalize("NFC", text)
    return "".join(one for one in text if unicodedata.category(one).startswith(_DRAWN_ALIKE))


_LOOK_EVERY = 0.05
_STARTS_WITHIN = 60.0
_SHOWN_WITHIN = 2.0
"""Seconds in which a UI shows what was pasted."""
_SETTLE = 0.2
"""Codex takes keys that come faster for a part of the paste."""
_TAKEN_WITHIN = 3.0
"""Seconds in which a UI takes an Enter."""
_PRESSES = 3
_DRAWN_WITHIN = 0.4
"""Seconds in which a UI draws what a key has changed."""
_MOST_PRESSES = 2000
"""Longer texts are shown as one mark, or cannot be taken out."""
_MORE_PRESSES = 100
"""So often a key is pressed once more: nobody knows what a UI takes for one letter."""


def send(app: App, worker: WorkerInfo, text: str, *, as_command: bool = False) -> None:
    """Give a text to the UI of a worker. Raises `Busy` when it waits for an answer of a person."""
    sending = _Sending(app, worker, as_command=as_command)
    text = text if as_command else literal(app, worker, text, Route.TYPED)
    sending.wait_for_start()
    known = app.workers.named(worker.name)
    try:
        sending.type(text)
    except BaseException:
        if not sending.has_begun():
            before = {"prompted": known.prompted, "commanded": known.commanded}
            app.workers.records.change(worker.name, **before)
        raise


def literal(app: App, worker: WorkerInfo, text: str, route: Route) -> str:
    """The text so that the agent takes it as a prompt, whatever it begins with."""
    store = app.store(worker.agent)
    return store.as_prompt(text, route) if isinstance(store, HasCommands) else text


def own_pane(app: App, worker: WorkerInfo) -> tuple[Terminal, Pane]:
    """The pane in which the worker's own process runs at this moment."""
    if worker.pane is None:
        raise Unsupported(f"{worker.name} does not run in a pane that prong opened")
    if liveness.lives(app, [worker])[worker.name].certain is not None:
        raise _gone(worker)
    return app.terminals.of(worker.pane), worker.pane


def until(wanted: Callable[[], bool], seconds: float, every: float = _LOOK_EVERY) -> bool:
    """Look until it is so; False when it is not so in time."""
    end = time.monotonic() + seconds
    while not wanted():
        if time.monotonic() > end:
            return False
        time.sleep(every)
    return True


class _Sending:
    def __init__(self, app: App, worker: WorkerInfo, *, as_command: bool) -> None:
        self._app = app
        self._as_command = as_command
        self._name = worker.name
        self._agent = worker.agent
        self._lookout = Lookout(app)
        self.marked = datetime.now(UTC)
        """When the prompt was given, as far as it was. What says idle must be newer than that."""

    def wait_for_start(self) -> None:
        """Wait until the worker has come so far that its UI takes text."""
        end = time.monotonic() + _STARTS_WITHIN
        while self._state() is WorkerState.STARTING and time.monotonic() < end:
            time.sleep(_LOOK_EVERY)

    def type(self, text: str) -> None:
        """Paste and press Enter; again when the UI did not take it, which it does now and then."""
        terminal, pane = own_pane(self._app, self._refuse_dialog())
        if not isinstance(terminal, CanSend) or not isinstance(terminal, CanPress):
            raise Unsupported(
                f"{terminal.name} does not accept text from other programs",
                hint=f"prong attach {self._name}",
            )
        line = InputLine(terminal, pane, self._app.store(self._agent))
        if not until(lambda: not line.holds_draft(), _DRAWN_WITHIN):
            raise self._is_a_draft()
        self._mark(text)
        terminal.send(pane, text)
        until(lambda: line.shows(text), _SHOWN_WITHIN)
        if not until(lambda: line.holds_only(text), _DRAWN_WITHIN):
            raise self._is_a_draft(left=not _take_out(terminal, pane, line, text, is_alone=False))
        for _ in range(_PRESSES):
            time.sleep(_SETTLE)
            own_pane(self._app, self._refuse_dialog())
            # Once more: a turn that has ended since the paste is not the one of this prompt.
            self._mark(text)
            terminal.key(pane, "Enter")
            if until(lambda: line.is_taken() or self.has_begun(), _TAKEN_WITHIN):
                return
            if not line.is_known:
                # Nobody can see whether it was taken, and another Enter may answer a question.
                return
        # The next text must not be sent together with this one.
        own_pane(self._app, self._refuse_dialog())
        is_out = _take_out(terminal, pane, line, text, is_alone=True)
        stands = "and was removed again" if is_out else "and is still in it"
        raise External(
            f"the pane of {self._name} does not take Enter: the text was not sent, {stands}",
            hint=f"prong attach {self._name}",
        )

    def has_begun(self) -> bool:
        """True when something runs that did not before; also when it has ended the worker."""
        evidence = self._status().evidence
        if evidence.state is WorkerState.GONE:
            return True
        is_new = evidence.time is not None and evidence.time > self.marked
        is_work = evidence.state in (WorkerState.BUSY, WorkerState.WAITING)
        return is_new and is_work and evidence.source != "prompt" and evidence.detail != ENDING

    def _mark(self, text: str) -> None:
        self.marked = datetime.now(UTC)
        self._app.workers.records.change(
            self._name,
            prompted=self.marked,
            commanded=self._as_command and text.lstrip().startswith("/"),
        )

    def _is_a_draft(self, *, left: bool = False) -> Busy:
        also = "; the text is in it now, too" if left else ""
        return Busy(
            f"something is typed in the pane of {self._name} already: the text would be sent "
            f"together with it{also}",
            hint=f"prong attach {self._name}, or: prong key {self._name} C-u",
        )

    def _refuse_dialog(self) -> WorkerInfo:
        """The worker, if no text and no Enter would be an answer to what it asks a person."""
        status = self._status()
        worker = status.worker
        if status.state is WorkerState.WAITING:
            raise _in_a_dialog(worker, status.evidence.detail)
        store = self._app.store(worker.agent)
        if isinstance(store, HasDialogs) and worker.pane is not None:
            # What no hook tells may still stand on the screen.
            terminal = self._app.terminals.of(worker.pane)
            is_gone = status.state is WorkerState.GONE
            if isinstance(terminal, CanCapture) and not is_gone:
                asked = store.dialog_on(terminal.capture(worker.pane))
                if asked is not None:
                    raise _in_a_dialog(worker, asked)
        return worker

    def _state(self) -> WorkerState:
        return self._status().state

    def _status(self) -> WorkerStatus:
        return self._lookout.look([self._app.workers.named(self._name)])[0]


def _take_out(
    terminal: CanPress, pane: Pane, line: InputLine, text: str, *, is_alone: bool
) -> bool:
    """Take a text out of the line for input; what else stands there stays. False when it cannot."""
    times = 1 if line.has_mark() else presses(text)
    if line.before is None or times > _MOST_PRESSES:
        return False
    # The cursor is behind what was pasted; but Codex has it in front of what it did not take.
    keys = ("BSpace", "DC") if is_alone else ("BSpace",)
    left = {line.before, ""} if is_alone else {line.before}
    terminal.key(pane, *(key for key in keys for _ in range(times)))
    for _ in range(_MORE_PRESSES):
        if until(lambda: line.text() in left, _DRAWN_WITHIN):
            return True
        if not is_alone and len(line.text() or "") <= len(line.before):
            return False
        terminal.key(pane, *keys)
    return False


def _gone(worker: WorkerInfo) -> Unavailable:
    return Unavailable(f"{worker.name} is gone", hint=f"prong restart {worker.name}")


def _in_a_dialog(worker: WorkerInfo, asked: str | None) -> Busy:
    about = f" ({asked})" if asked else ""
    return Busy(
        f"{worker.name} is waiting for input{about}: the text would be taken as the answer",
        hint=f"prong attach {worker.name}",
    )
