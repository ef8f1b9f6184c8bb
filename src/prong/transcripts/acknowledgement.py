"""Recognize the answer to a seed prompt, `Ready.`, so that it is not shown to users."""

import re

from prong.model.forks import SeedHeader

WORD = "Ready."
"""The answer that a seed prompt asks for."""

_LONGEST = 64
"""Maximum length of an acknowledgement."""
_DECORATION = r"[\s*_`~\"'“”‘’]*"  # noqa: RUF001
_READY = re.compile(f"{_DECORATION}ready{_DECORATION}[.!。…]?{_DECORATION}", re.IGNORECASE)


def is_ready(text: str) -> bool:
    """Check that the text is just `Ready.`, perhaps bold, quoted or without the full stop.

    With a preface or a follow-up question, it is an answer worth reading.
    """
    return len(text) <= _LONGEST and _READY.fullmatch(text) is not None


def acknowledges_seed(prompt: str | None, said: str) -> bool:
    """Check that a prompt is a seed and the answer just `Ready.`.

    Such an exchange is of no interest as the last words of a session.
    """
    return prompt is not None and SeedHeader.parse(prompt) is not None and is_ready(said)
