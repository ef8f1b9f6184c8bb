"""The line for input in a worker's pane: what stands in it, and whether it has let go of it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from prong.errors import ProngError
from prong.log import debug
from prong.worker import Pane
from prong.worker_ports import CanCapture, HasCursor, HasInput, Terminal

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
