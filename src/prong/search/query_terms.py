"""The words of a query, in the forms in which the index has them."""

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from prong.search.analyzers import (
    STOP_WORDS,
    names_in,
    plain,
    plain_words,
    spelled,
    stemmer,
    unspaced_in,
    words_in,
)

_LONGEST_QUERY = 10_000
_MOST_WORDS = 64
"""How many words of a query are looked for."""
_LEAST_BEGINNING = 2
"""Letters; fewer begin too many words."""

_Any = TypeVar("_Any")


class QueryTerms(NamedTuple):
    """The words of a query, as the fields have them."""

    stems: tuple[str, ...]
    """Of prose, without those that say nothing."""
    plain: tuple[str, ...]
    """The same words as they were typed, and the parts and wholes of identifiers."""
    typed: tuple[str, ...]
    """The same words with their capitals, to be marked in a passage."""
    telling: tuple[tuple[str, str], ...]
    """Stem and plain form of each word that a turn can have or lack."""
    sentence: tuple[str, ...] = ()
    """All words in their order, also those that say nothing."""

    def __bool__(self) -> bool:
        return bool(self.stems or self.plain)


def words_of(text: str) -> QueryTerms:
    """The words of a query that say something; all of them when none does.

    Of a very long text the first ones: each word costs time, and nobody means so many.
    """
    text = query_text(text)
    typed = words_in(text)
    telling = _once(word for word in typed if word.lower() not in STOP_WORDS) or _once(typed)
    telling = telling[:_MOST_WORDS]
    pairs = _once(pair for word in telling for pair in _pairs(word))[:_MOST_WORDS]
    sentence = plain_words(text)
    return QueryTerms(
        stems=_once(stem for stem, _ in pairs),
        plain=_once((*(plain for _, plain in pairs), *names_in(spelled(text))[:_MOST_WORDS])),
        typed=telling,
        telling=pairs,
        sentence=tuple(sentence) if len(sentence) <= _MOST_WORDS else (),
    )


def beginning_in(text: str) -> str | None:
    """The last word, while it may still get longer; None when there is none."""
    words = words_in(query_text(text))
    if not words or not text.endswith(words[-1]) or unspaced_in(words[-1]):
        return None
    return words[-1].lower() if len(words[-1]) >= _LEAST_BEGINNING else None


def query_text(text: str) -> str:
    """A query as far as it is read. A lone surrogate is no text for a tokenizer."""
    return text[:_LONGEST_QUERY].encode("utf-8", "replace").decode()


def _pairs(word: str) -> list[tuple[str, str]]:
    """The stem and the plain form of a word; of one without spaces, its pairs of characters."""
    unspaced = unspaced_in(word)
    if unspaced:
        return [(known, known) for pair in _once(unspaced) for known in plain().analyze(pair)]
    stems, words = stemmer().analyze(word), plain().analyze(word)
    return [(stems[0], words[0])] if stems and words else []


def _once(words: Iterable[_Any]) -> tuple[_Any, ...]:
    return tuple(dict.fromkeys(words))


class FileNameFilter:
    """Fits a file that ends in it, and every file below a folder that does."""

    def __init__(self, text: str) -> None:
        parts = (part for part in _plain(text).split("/") if part not in ("", "."))
        self._inside = f"/{'/'.join(parts)}/"

    def fits(self, files: Iterable[str]) -> bool:
        """True when it fits one of these paths."""
        return any(self._inside in f"/{_plain(file)}/" for file in files)


def _plain(path: str) -> str:
    """In one case, and parted by `/`: sessions may come from a Windows."""
    return path.lower().replace("\\", "/")
