"""Context window sizes by model name, for sessions that do not record theirs."""

import re

# The alias re-exports it: how full a window is belongs here, too.
# ruff: noqa: PLC0414
from prong.transcripts.budget import BudgetLevel as BudgetLevel
from prong.transcripts.budget import level as level

_MILLION = 1_000_000
_WINDOWS = (
    (r"\[1m\]", _MILLION),
    (r"claude-(opus|sonnet|haiku|fable)-[5-9]", _MILLION),
    (r"claude|opus|sonnet|haiku", 200_000),
    (r"gpt-5|codex", 272_000),
    (r"gpt-4\.1", _MILLION),
    (r"gpt-4|o\d\b", 128_000),
)
"""The first match counts. An unlisted model has an unknown window, which is no obstacle."""


def window_of(model: str | None, seen: int = 0) -> int | None:
    """Look up a model's window in tokens, None if unknown. `seen` is the most it has held."""
    sizes = (size for name, size in _WINDOWS if re.search(name, model or "", re.IGNORECASE))
    window = next(sizes, None)
    if window is None or seen <= window:
        return window
    # It held more than the table says, so it was the large variant.
    return _MILLION if seen <= _MILLION else None
