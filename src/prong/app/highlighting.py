"""Where the words of a query stand in a text, for who shows it."""

import re
from collections.abc import Callable
from itertools import islice

from prong.search.asked_words import beginning_in, words_of
from prong.search.passages import Marker

Highlighter = Callable[[str], list[tuple[int, int]]]
"""Takes a text, gives the beginnings and ends of what matches, in order."""
_MOST = 200
"""Matches in one text."""


def highlighter(query: str) -> Highlighter:
    """Finds the words of a query, in any of their forms; the last one may be a beginning."""
    words = words_of(query)
    if not words:
        return lambda _: []
    marker = Marker(words)
    start = beginning_in(query)
    begins = re.compile(rf"\b{re.escape(start)}\w*", re.IGNORECASE) if start else None

    def matches(text: str) -> list[tuple[int, int]]:
        found = [(begin, end) for begin, end, _ in islice(marker.matches(text), _MOST)]
        if begins is not None:
            found += [match.span() for match in islice(begins.finditer(text), _MOST)]
            found.sort()
        apart: list[tuple[int, int]] = []
        for begin, end in found:
            if not apart or begin >= apart[-1][1]:
                apart.append((begin, end))
        return apart

    return matches
