"""Text analyzers: how texts and queries are split into words for tantivy."""

import re
from functools import cache
from itertools import pairwise

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

_WORD = re.compile(r"[^\W_]+")
# Han, Hiragana, Katakana, Hangul, Thai: scripts without spaces, or whose parts matter.
_CHARACTERS = (
    "\u0e00-\u0eff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003134f"
)
_AROUND = ".,:;!?\"'`*_/#@()[]{}<>-"
"""Characters that are stripped from the ends of words."""
_ASCII = bytes(range(128))
_LONGEST = 100
"""Maximum length of an identifier; longer words are data."""
_MOST_KNOWN = 200_000
# Not compiled here: many queries have no identifier.
_COMPOUND = r"[^\W_]+(?:(?:[_./:@#-]|::)+[^\W_]+)+"
_CAMEL = r"[a-z][A-Z]|[A-Z]{2}[a-z]"
_PART = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"


def names_in(text: str) -> list[str]:
    """Find identifiers: whole compounds (`parse_json`, `src/a.py`) and parts of camelCase."""
    # Few words are identifiers or new, so most must cost only a lookup.
    identifiers: list[str] = []
    cache = _known
    for word in set(text.split()) - _nameless:
        names = cache.get(word)
        if names is None:
            names = _names_in_word(word)
            if names:
                cache[word] = names
            else:
                _nameless.add(word)
        identifiers += names
    if len(cache) + len(_nameless) > _MOST_KNOWN:
        cache.clear()
        _nameless.clear()
    return identifiers


_known: dict[str, list[str]] = {}
_nameless: set[str] = set()
"""Words known to contain no identifier."""


def _names_in_word(word: str) -> list[str]:
    if len(word) > _LONGEST:
        return []
    inner = word.strip(_AROUND)
    if inner.isalpha() and (inner[1:].islower() or inner.isupper()):
        # Most words are plain, so this fast check comes first.
        return []
    lowered = word.lower()
    names = [] if inner.isalnum() else re.findall(_COMPOUND, lowered)
    if lowered != word and re.search(_CAMEL, word):
        for part in re.split(r"[\W_]+", word):
            if re.search(_CAMEL, part):
                names += (piece.lower() for piece in re.findall(_PART, part) if len(piece) > 1)
    return names


def words_in(text: str) -> list[str]:
    """Split a text into words. A run of text without spaces is one word."""
    return _WORD.findall(text) if text.isascii() else _word().findall(text)


# These character classes are slow to compile, and most queries do not need them.


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(f"[{_CHARACTERS}]+")


@cache
def _word() -> re.Pattern[str]:
    return re.compile(rf"[{_CHARACTERS}]+|[^\W_{_CHARACTERS}]+")


def spaced(word: str) -> str:
    """Return the part of a word before the first character of a script without spaces."""
    return word if word.isascii() else _unspaced().split(word, 1)[0]


def unspaced_in(text: str) -> list[str]:
    """List adjacent character pairs in text without spaces, and single characters as they are."""
    if text.isascii():
        return []
    pairs: list[str] = []
    for run in _unspaced().findall(text):
        pairs += [run[at : at + 2] for at in range(len(run) - 1)] or [run]
    return pairs


def spelled(text: str) -> str:
    """Insert spaces into text without spaces, between characters and their pairs.

    The order is kept, so that a phrase of a longer text is still a part of it.
    """
    # Fast path for most texts, including those with a few non-ASCII signs.
    if text.isascii():
        return text
    non_ascii = text.encode("utf-8", "ignore").translate(None, _ASCII).decode()
    return _unspaced().sub(_spelled_run, text) if _unspaced().search(non_ascii) else text


def _spelled_run(match: re.Match[str]) -> str:
    run = match[0]
    pairs = [f"{character} {character}{following}" for character, following in pairwise(run)]
    return f" {' '.join((*pairs, run[-1]))} "


_LONGEST_WORD = 40


def analyzers() -> dict[str, TextAnalyzer]:
    """Get the analyzers by the names that index fields use."""
    spaced = TextAnalyzerBuilder(Tokenizer.whitespace()).build()
    return {"prose": stemmer(), "plain": plain(), "spaced": spaced}


@cache
def plain() -> TextAnalyzer:
    """Analyzer that only lowercases words."""
    return _words().build()


@cache
def stemmer() -> TextAnalyzer:
    """Analyzer that reduces English words to stems."""
    return _words().filter(Filter.stemmer("english")).build()


def _words() -> TextAnalyzerBuilder:
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    return builder.filter(Filter.remove_long(_LONGEST_WORD)).filter(Filter.lowercase())


def plain_words(text: str) -> list[str]:
    """Split a text into words as the unstemmed fields do."""
    return plain().analyze(spelled(text))


def stem(word: str) -> str:
    """Stem a word as the prose fields do."""
    return " ".join(stemmer().analyze(word))


_WORDS = """
a about am an and any are as at be been being but by can could did do does for from had has have he
her him his how i if in into is it its just me my no not of on or our she should so some such than
that the their them then there these they this to too us very was we were what when where which who
why will with would you your
"""
STOP_WORDS = frozenset(_WORDS.split())
