"""The answer to a seed, `Ready.`: recognised when the fork is made, and not shown then."""

import re

from prong.model.forks import SeedHeader

WORD = "Ready."
"""What a seed asks for."""

_LONGEST = 64
"""An acknowledgement is short."""
_DECORATION = r"[\s*_`~\"'“”‘’]*"  # noqa: RUF001
_READY = re.compile(f"{_DECORATION}ready{_DECORATION}[.!。…]?{_DECORATION}", re.IGNORECASE)


def is_ready(text: str) -> bool:
    """True when the text says nothing but `Ready.`, be it bold, quoted or without the full stop.

    A preface or a question after it is an answer that somebody wants to read.
    """
    return len(text) <= _LONGEST and _READY.fullmatch(text) is not None


def acknowledges_seed(prompt: str | None, said: str) -> bool:
    """Whether a prompt is a seed, and nothing but `Ready.` was said to it.

    Nobody asked that, and nobody wants to read it as the last words of a session.
    """
    return prompt is not None and SeedHeader.parse(prompt) is not None and is_ready(said)
