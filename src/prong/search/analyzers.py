"""How tantivy cuts texts into words, for the index and for a query alike."""

from functools import cache

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from prong.search.words import spelled

_LONGEST_WORD = 40


def analyzers() -> dict[str, TextAnalyzer]:
    """By the names that the fields of an index have for them."""
    spaced = TextAnalyzerBuilder(Tokenizer.whitespace()).build()
    return {"prose": stemmer(), "plain": plain(), "spaced": spaced}


@cache
def plain() -> TextAnalyzer:
    """Words as they are, without capitals."""
    return _words().build()


@cache
def stemmer() -> TextAnalyzer:
    """All forms of an English word are one."""
    return _words().filter(Filter.stemmer("english")).build()


def _words() -> TextAnalyzerBuilder:
    builder = TextAnalyzerBuilder(Tokenizer.simple())
    return builder.filter(Filter.remove_long(_LONGEST_WORD)).filter(Filter.lowercase())


def plain_words(text: str) -> list[str]:
    """The words as the fields without stems have them."""
    return plain().analyze(spelled(text))


def stem(word: str) -> str:
    """A word as the prose fields have it."""
    return " ".join(stemmer().analyze(word))
