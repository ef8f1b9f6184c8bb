"""How much a model can hold, where the session itself does not say."""

import re

# By an alias, so that it counts as a part of this module: how full a window is.
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
"""The first that fits. A model that is not here has an unknown window; that refuses nothing."""


def window_of(model: str | None, seen: int = 0) -> int | None:
    """The window of a model in tokens; None when unknown. `seen` were in it at some time."""
    sizes = (size for name, size in _WINDOWS if re.search(name, model or "", re.IGNORECASE))
    known = next(sizes, None)
    if known is None or seen <= known:
        return known
    # It held more than the table says, so it was the large variant of the model.
    return _MILLION if seen <= _MILLION else None
