"""The answer to a seed, `Ready.`: recognised once, and kept out of what is shown."""

import re

WORD = "Ready."
"""What a seed asks for."""

_LONGEST = 64
"""An acknowledgement is short. It bounds what is held back, too."""
_DECORATION = r"[\s*_`~\"'“”‘’]*"  # noqa: RUF001
_READY = re.compile(f"{_DECORATION}ready{_DECORATION}[.!。…]?{_DECORATION}", re.IGNORECASE)
_BEGINNING = re.compile(
    f"{_DECORATION}(?:r(?:e(?:a(?:d(?:y{_DECORATION}[.!。…]?{_DECORATION})?)?)?)?)?", re.IGNORECASE
)
"""What can still become an acknowledgement."""


def is_ready(text: str) -> bool:
    """True when the text says nothing but `Ready.`, be it bold, quoted or without the full stop.

    A preface or a question after it is an answer that somebody wants to read.
    """
    return len(text) <= _LONGEST and _READY.fullmatch(text) is not None


class AckFilter:
    """Keeps the acknowledgement out of a stream of text; at most one, and only the first text.

    It is used while a fork is made and forgotten then: what is read later from the session file
    is shown as it is.
    """

    def __init__(self) -> None:
        self.filtered = False
        """True once an acknowledgement was swallowed."""
        self._held = ""
        self._decided = False

    def feed(self, piece: str) -> str:
        """Take the next piece of the agent's text; gives back what is to be shown now."""
        if self._decided:
            return piece
        self._held += piece
        if len(self._held) <= _LONGEST and _BEGINNING.fullmatch(self._held):
            return ""
        return self._release()

    def end_message(self) -> str:
        """The text so far is one message: a tool call, a thought or another message follows."""
        if self._decided or not self._held.strip():
            return ""
        if is_ready(self._held):
            self.filtered = True
            self._held = ""
        return self._release()

    def close(self, *, failed: bool = False) -> str:
        """The turn is over. When it failed, whatever was held back is to be shown."""
        shown = "" if failed else self.end_message()
        return shown + self._release()

    def _release(self) -> str:
        self._decided = True
        held, self._held = self._held, ""
        return held
