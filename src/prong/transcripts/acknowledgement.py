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
    """Check that the text is just `Ready.`: with a preface, it is an answer worth reading."""
    return len(text) <= _LONGEST and _READY.fullmatch(text) is not None


def acknowledges_seed(prompt: str | None, said: str) -> bool:
    """Check that these are a seed and its answer: as last words, they say nothing."""
    return prompt is not None and SeedHeader.parse(prompt) is not None and is_ready(said)
