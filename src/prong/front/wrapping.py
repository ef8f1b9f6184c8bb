"""Text in lines of a given width, measured in columns of a terminal."""

from collections.abc import Iterator

from prong.front.text import cells


def wrapped(text: str, columns: int) -> list[str]:
    """Lines that fit, broken between words; a word that is too long is broken anywhere."""
    return [line for part in text.split("\n") for line in _wrapped(part.expandtabs(4), columns)]


def _wrapped(text: str, columns: int) -> Iterator[str]:
    line = ""
    indent = text[: len(text) - len(text.lstrip(" "))]
    for word in text.split():
        joined = f"{line} {word}" if line else indent + word
        if cells(joined) <= columns:
            line = joined
            continue
        if line:
            yield line
        *full, line = _broken(word, columns)
        yield from full
    yield line


def _broken(word: str, columns: int) -> list[str]:
    pieces = [""]
    room = columns
    for character in word:
        size = cells(character)
        if size > room:
            pieces.append("")
            room = columns
        pieces[-1] += character
        room -= size
    return pieces
