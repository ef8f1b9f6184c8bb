"""Keyword arguments of the Python API: one that nobody knows is never ignored."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches


def refuse_unknown(function: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise `TypeError` for a keyword that a function does not take, with the nearest it does."""
    for name in given:
        if name in known:
            continue
        near = get_close_matches(name, known, n=1)
        meant = f": did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{meant}")
