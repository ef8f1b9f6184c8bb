"""Estimate how much of a model's context window a text takes."""

from enum import StrEnum

_CHARACTERS_PER_TOKEN = 4
_NEAR = 80
"""Percentage of the window at which warnings start."""


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
