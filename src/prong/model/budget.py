"""Estimate how much of a model's context window a text takes."""

import re
from enum import StrEnum

_CHARACTERS_PER_TOKEN = 4
_NEAR = 80
"""Percentage of the window at which warnings start."""
_MILLION = 1_000_000
_WINDOWS = (
    (r"\[1m\]", _MILLION),
    (r"claude-(opus|sonnet|haiku|fable)-[5-9]", _MILLION),
    (r"claude|opus|sonnet|haiku", 200_000),
    (r"gpt-5|codex", 272_000),
    (r"gpt-4\.1", _MILLION),
    (r"gpt-4|o\d\b", 128_000),
)
"""Windows by model name, for sessions that do not record theirs. The first match counts; an
unlisted model has an unknown window, which is no obstacle."""


class BudgetLevel(StrEnum):
    """The relation of a number of tokens to a context window."""

    OK = "ok"
    NEAR = "near"
    OVER = "over"
    UNKNOWN = "unknown"


def estimate(characters: int) -> int:
    """Estimate the number of tokens in a text of this length, rounded up."""
    return -(-characters // _CHARACTERS_PER_TOKEN)


def characters(tokens: int) -> int:
    """Return the length of the longest text estimated at this number of tokens."""
    return tokens * _CHARACTERS_PER_TOKEN


def level(tokens: int, window: int | None) -> BudgetLevel:
    """Compare tokens with a window. A full one counts as over: the next prompt has no room."""
    if window is None or window <= 0:
        return BudgetLevel.UNKNOWN
    if tokens >= window:
        return BudgetLevel.OVER
    return BudgetLevel.NEAR if tokens * 100 >= window * _NEAR else BudgetLevel.OK


def room(window: int) -> int:
    """Return the most tokens for which the level is still `ok`: the limit for seeds."""
    return max((window * _NEAR - 1) // 100, 0)


def window_of(model: str | None, seen: int = 0) -> int | None:
    """Look up a model's window in tokens, None if unknown. `seen` is the most it has held."""
    sizes = (size for name, size in _WINDOWS if re.search(name, model or "", re.IGNORECASE))
    window = next(sizes, None)
    if window is None or seen <= window:
        return window
    # It held more than the table says, so it was the large variant.
    return _MILLION if seen <= _MILLION else None
