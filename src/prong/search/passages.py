"""Passage extraction: the part of a text that matches a query best, with matches marked."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import islice

from prong.model.search import Passage
from prong.search.analyzers import spaced, stem, unspaced_in
from prong.search.query_terms import QueryTerms, beginning_in, words_of

WIDTH = 240
_LONGEST = 400_000
"""Characters of a text that are searched."""
_BEFORE = 40
"""Characters of context before the first match."""
_MOST = 2_000
"""Maximum number of matches considered in a text."""
_SPACE = re.compile(r"\s+")
_LETTERS = re.compile(r"[^\W_]*")


class Marker:
    def __init__(self, words: QueryTerms) -> None:
        self._stems = set(words.stems)
        self._plain = set(words.plain)
        starts = {_start(word) for word in (*words.typed, *words.plain, *words.stems)}
        starts.discard("")
        self._starts = starts
        self._are_ascii = all(map(str.isascii, starts))

    @cached_property
    def _in_ascii(self) -> re.Pattern[str]:
        """Pattern for lowercase ASCII texts, twice as fast as the general one."""
        return re.compile(_any_of(word for word in self._starts if word.isascii()))

    @cached_property
    def _in_any(self) -> re.Pattern[str]:
        """Pattern for any text. Group 1 holds text without spaces, which matches anywhere."""
        unspaced = {word for word in self._starts if unspaced_in(word)}
        pattern = f"({_any_of(unspaced)})|{_any_of(self._starts - unspaced)}"
        return re.compile(pattern, re.IGNORECASE)

    def matches(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the start, end and query word of each match.

        Matches start at a word or a part of an identifier, or anywhere in text without spaces.
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
                # Inside a word, only a part of camelCase may match.
                if not (text[start].isupper() and not text[start - 1].isupper()):
                    continue
                part = re.match(r"[A-Z]?[a-z]+|[A-Z]+|\d+", text[start:end])
                end = start + part.end() if part else end
            query_word = self._known(text[start:end].lower())
            if query_word is None and (part := re.match(r"[A-Z]?[a-z]+(?=[A-Z])", text[start:end])):
                end = start + part.end()
                query_word = self._known(part[0].lower())
            if query_word is None and not text[start].isascii():
                query_word = self._unspaced(text[start:end])
            if query_word is not None:
                yield start, end, query_word

    def _known(self, word: str) -> str | None:
        if word in self._plain:
            return _stem(word)
        stemmed = _stem(word)
        return stemmed if stemmed in self._stems else None

    def _unspaced(self, run: str) -> str | None:
        return next((word for word in self._plain if word in run), None)

    def is_in(self, text: str) -> bool:
        return next(self.matches(text), None) is not None

    def passage(self, texts: Iterable[str]) -> Passage | None:
        """Find the passage with the most distinct query words; None without a match."""
        best: tuple[int, str, list[tuple[int, int, str]]] = (0, "", [])
        for text in texts:
            matches = list(islice(self.matches(text), _MOST))
            count, first = _densest(matches)
            if count > best[0]:
                best = (count, text, matches[first:])
        return _cut(best[1], best[2]) if best[0] else None


def _end_of_word(text: str, at: int) -> int:
    """Find the end of the word that continues at a position."""
    rest = _LETTERS.match(text, at, _LONGEST)
    return at + len(spaced(rest[0])) if rest else at


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    return stem(word)


def _any_of(words: Iterable[str]) -> str:
    """Build a pattern for any of the words, longest first; without words it never matches."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True)) or r"(?!)"


def _start(word: str) -> str:
    """Return the common beginning of all forms of a word."""
    lowered = word.lower()
    if not lowered.isascii():
        return lowered
    root = _stem(lowered)
    common = 0
    while common < min(len(root), len(lowered)) and root[common] == lowered[common]:
        common += 1
    return lowered[:common]


def _densest(found: list[tuple[int, int, str]]) -> tuple[int, int]:
    """Return the largest number of distinct words within the width, and its first match."""
    starts = [start for start, _, _ in found]
    densest = (0, 0)
    for first, start in enumerate(starts):
        last = bisect_right(starts, start + WIDTH - _BEFORE)
        count = len({word for _, _, word in found[first : min(last, first + 50)]})
        if count > densest[0]:
            densest = (count, first)
    return densest


def _cut(text: str, found: list[tuple[int, int, str]]) -> Passage:
    start = max(found[0][0] - _BEFORE, 0)
    if start:
        # Start at the beginning of a word.
        space = text.rfind(" ", max(start - 20, 0), start + 1)
        start = space + 1 if space >= 0 else start
    end = min(start + WIDTH, len(text))
    if end < len(text):
        space = text.rfind(" ", start + WIDTH // 2, end)
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
"""Returns the start and end of each match in a text, in order."""
_MOST_WORDS = 200
"""Maximum number of matches highlighted in one text."""


def highlighter(query: str) -> Highlighter:
    """Build a function that finds the query's words; the last may be incomplete."""
    words = words_of(query)
    if not words:
        return lambda _: []
    marker = Marker(words)
    start = beginning_in(query)
    begins = re.compile(rf"\b{re.escape(start)}\w*", re.IGNORECASE) if start else None

    def matches(text: str) -> list[tuple[int, int]]:
        spans = [(begin, end) for begin, end, _ in islice(marker.matches(text), _MOST_WORDS)]
        if begins is not None:
            spans += [match.span() for match in islice(begins.finditer(text), _MOST_WORDS)]
            spans.sort()
        disjoint: list[tuple[int, int]] = []
        for begin, end in spans:
            if not disjoint or begin >= disjoint[-1][1]:
                disjoint.append((begin, end))
        return disjoint

    return matches
