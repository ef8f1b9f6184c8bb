"""How much of a model's window a text takes."""

from enum import StrEnum

_CHARACTERS_PER_TOKEN = 4
_NEAR = 80
"""Per cent of the window from which on there is a warning."""


class BudgetLevel(StrEnum):
    """How a number of tokens compares with a window."""

    OK = "ok"
    NEAR = "near"
    OVER = "over"
    UNKNOWN = "unknown"


def estimate(characters: int) -> int:
    """About how many tokens a text of this length has, rounded up."""
    return -(-characters // _CHARACTERS_PER_TOKEN)


def characters(tokens: int) -> int:
    """The longest text that is estimated at no more than this."""
    return tokens * _CHARACTERS_PER_TOKEN


def level(tokens: int, window: int | None) -> BudgetLevel:
    """A full window counts as over: there would be no room for the next prompt."""
    if window is None or window <= 0:
        return BudgetLevel.UNKNOWN
    if tokens >= window:
        return BudgetLevel.OVER
    return BudgetLevel.NEAR if tokens * 100 >= window * _NEAR else BudgetLevel.OK


def room(window: int) -> int:
    """The most tokens that leave the level at `ok`; what a seed is trimmed to."""
    return max((window * _NEAR - 1) // 100, 0)
