"""SearchRequest terms: the words of a query in the forms in which they are indexed."""

from collections.abc import Callable, Iterable
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
"""Maximum number of query words that are searched."""
_LEAST_BEGINNING = 2
"""Minimum letters of a prefix; shorter ones match too many words."""

_Any = TypeVar("_Any")


class QueryTerms(NamedTuple):
    """The words of a query in the forms that the index fields use."""

    stems: tuple[str, ...]
    """Stems for the prose fields, without stop words."""
    plain: tuple[str, ...]
    """The same words as typed, plus identifiers and their parts."""
    typed: tuple[str, ...]
    """The same words in their original case, for marking passages."""
    telling: tuple[tuple[str, str], ...]
    """Stem and plain form of each word, for measuring coverage."""
    sentence: tuple[str, ...] = ()
    """All words in order, including stop words."""

    def __bool__(self) -> bool:
        return bool(self.stems or self.plain)


def words_of(text: str) -> QueryTerms:
    """Extract the first words of a query; stop words only if there is nothing else."""
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
    """Return the last word if it may be incomplete, else None."""
    words = words_in(query_text(text))
    if not words or not text.endswith(words[-1]) or unspaced_in(words[-1]):
        return None
    return words[-1].lower() if len(words[-1]) >= _LEAST_BEGINNING else None


def query_text(text: str) -> str:
    """Shorten a query, and replace lone surrogates, which a tokenizer rejects."""
    return text[:_LONGEST_QUERY].encode("utf-8", "replace").decode()


def _pairs(word: str) -> list[tuple[str, str]]:
    """Return the stem and plain form of a word; for text without spaces, its character pairs."""
    unspaced = unspaced_in(word)
    if unspaced:
        return [(form, form) for pair in _once(unspaced) for form in plain().analyze(pair)]
    stems, words = stemmer().analyze(word), plain().analyze(word)
    return [(stems[0], words[0])] if stems and words else []


def _once(words: Iterable[_Any]) -> tuple[_Any, ...]:
    return tuple(dict.fromkeys(words))


def file_filter(names: Iterable[str]) -> Callable[[Iterable[str]], bool]:
    """Build a check whether each name is that of a file, or of a folder above one."""
    parts = ([part for part in _plain(name).split("/") if part not in ("", ".")] for name in names)
    wanted = [f"/{'/'.join(some)}/" for some in parts]

    def fits(files: Iterable[str]) -> bool:
        paths = [f"/{_plain(file)}/" for file in files]
        return all(any(inside in path for path in paths) for inside in wanted)

    return fits


def _plain(path: str) -> str:
    """Normalize case and separators: sessions may come from Windows."""
    return path.lower().replace("\\", "/")
