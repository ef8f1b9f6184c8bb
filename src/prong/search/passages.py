"""The passage of a text that fits a query best, with the words that fit marked."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import islice

from prong.model.search import Passage
from prong.search.analyzers import spaced, stem, unspaced_in
from prong.search.lexical import QueryTerms
from prong.search.query_terms import beginning_in, words_of

WIDTH = 240
_LONGEST = 400_000
"""How much of a text is looked at."""
_BEFORE = 40
"""How much stands before the first match."""
_MOST = 2_000
"""How many matches of a text are looked at."""
_SPACE = re.compile(r"\s+")
_LETTERS = re.compile(r"[^\W_]*")


class Marker:
    """Finds the words of a query in texts."""

    def __init__(self, words: QueryTerms) -> None:
        self._stems = set(words.stems)
        self._plain = set(words.plain)
        starts = {_start(word) for word in (*words.typed, *words.plain, *words.stems)}
        starts.discard("")
        self._starts = starts
        self._are_ascii = all(map(str.isascii, starts))

    @cached_property
    def _in_ascii(self) -> re.Pattern[str]:
        """For texts in small letters: found and compiled in half the time of any letters."""
        return re.compile(_any_of(word for word in self._starts if word.isascii()))

    @cached_property
    def _in_any(self) -> re.Pattern[str]:
        """A group has what is written without spaces: that stands anywhere."""
        unspaced = {word for word in self._starts if unspaced_in(word)}
        pattern = f"({_any_of(unspaced)})|{_any_of(self._starts - unspaced)}"
        return re.compile(pattern, re.IGNORECASE)

    def matches(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Where a word of the query stands, and which one.

        At the beginning of a word, or of a part of an identifier; anywhere without spaces.
        """
        at = 0
        pattern, letters = self._in_ascii, text.lower()
        if not text.isascii() and not (self._are_ascii and len(letters) == len(text)):
            pattern, letters = self._in_any, text
        while match := pattern.search(letters, at, _LONGEST):
            is_run = match.lastindex is not None
            start, end = match.span()
            at = end if is_run else _end_of_word(text, end)
            if not is_run and match[0].isascii():
                end = at
            if start and not is_run and text[start - 1].isalnum() and text[start - 1].isascii():
                # In the middle of a word: only a part of camelCase may begin there.
                if not (text[start].isupper() and not text[start - 1].isupper()):
                    continue
                part = re.match(r"[A-Z]?[a-z]+|[A-Z]+|\d+", text[start:end])
                end = start + part.end() if part else end
            known = self._known(text[start:end].lower())
            if known is None and (part := re.match(r"[A-Z]?[a-z]+(?=[A-Z])", text[start:end])):
                end = start + part.end()
                known = self._known(part[0].lower())
            if known is None and not text[start].isascii():
                known = self._unspaced(text[start:end])
            if known is not None:
                yield start, end, known

    def _known(self, word: str) -> str | None:
        if word in self._plain:
            return _stem(word)
        found = _stem(word)
        return found if found in self._stems else None

    def _unspaced(self, run: str) -> str | None:
        return next((word for word in self._plain if word in run), None)

    def is_in(self, text: str) -> bool:
        """True when a text has a word of the query."""
        return next(self.matches(text), None) is not None

    def passage(self, texts: Iterable[str], width: int = WIDTH) -> Passage | None:
        """The piece of one of these texts with the most different words; None when none has any."""
        best: tuple[int, str, list[tuple[int, int, str]]] | None = None
        for text in texts:
            found = list(islice(self.matches(text), _MOST))
            if not found:
                continue
            count, first = _densest(found, width)
            if best is None or count > best[0]:
                best = (count, text, found[first:])
        if best is None:
            return None
        return _cut(best[1], best[2], width)


def _end_of_word(text: str, at: int) -> int:
    """Where the word ends that goes on here."""
    rest = _LETTERS.match(text, at, _LONGEST)
    return at + len(spaced(rest[0])) if rest else at


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    return stem(word)


def _any_of(words: Iterable[str]) -> str:
    """A pattern for these words, the longest first; without any, one that fits nothing."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True)) or r"(?!)"


def _start(word: str) -> str:
    """What all forms of a word begin with."""
    lowered = word.lower()
    if not lowered.isascii():
        return lowered
    root = _stem(lowered)
    common = 0
    while common < min(len(root), len(lowered)) and root[common] == lowered[common]:
        common += 1
    return lowered[:common]


def _densest(found: list[tuple[int, int, str]], width: int) -> tuple[int, int]:
    """The most different words within the width, and the match at which that begins."""
    starts = [start for start, _, _ in found]
    best = (0, 0)
    for first, start in enumerate(starts):
        last = bisect_right(starts, start + width - _BEFORE)
        count = len({word for _, _, word in found[first : min(last, first + 50)]})
        if count > best[0]:
            best = (count, first)
    return best


def _cut(text: str, found: list[tuple[int, int, str]], width: int) -> Passage:
    start = max(found[0][0] - _BEFORE, 0)
    if start:
        # From the beginning of a word.
        space = text.rfind(" ", max(start - 20, 0), start + 1)
        start = space + 1 if space >= 0 else start
    end = min(start + width, len(text))
    if end < len(text):
        space = text.rfind(" ", start + width // 2, end)
        end = space if space > 0 else end
    inside = found[: bisect_left([at for at, _, _ in found], end)]
    pieces: list[str] = ["…" if start else ""]
    marks: list[tuple[int, int]] = []
    length, at = len(pieces[0]), start
    for begin, stop, _ in inside:
        before = _SPACE.sub(" ", text[at:begin])
        word = text[begin : min(stop, end)]
        marks.append((length + len(before), length + len(before) + len(word)))
        pieces += (before, word)
        length += len(before) + len(word)
        at = min(stop, end)
    pieces += (_SPACE.sub(" ", text[at:end]).rstrip(), "…" if end < len(text) else "")
    return Passage("".join(pieces), tuple(marks))


Highlighter = Callable[[str], list[tuple[int, int]]]
"""Takes a text, gives the beginnings and ends of what matches, in order."""
_MOST_WORDS = 200
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
        found = [(begin, end) for begin, end, _ in islice(marker.matches(text), _MOST_WORDS)]
        if begins is not None:
            found += [match.span() for match in islice(begins.finditer(text), _MOST_WORDS)]
            found.sort()
        apart: list[tuple[int, int]] = []
        for begin, end in found:
            if not apart or begin >= apart[-1][1]:
                apart.append((begin, end))
        return apart

    return matches
