"""Passages around search matches: cleaned, and fitted to lines."""

from collections.abc import Iterable

from prong.model.search import Passage
from prong.views.text import cells, clean, cut, wrapped

_BEGIN, _END = "\ue000", "\ue001"
"""Placeholders for the ends of a mark while the text is cleaned, which moves everything."""
_LEAD = 0.3
"""Share of the room before the first match, if the text does not fit."""
_FULL = 0.7
"""Share of a line that words must fill before the next one may be left out whole."""
_MOST_IN_A_CELL = 4
"""Upper bound of characters per column, counting combining ones."""
_DOTS = "…"


def cleaned(passage: Passage) -> Passage:
    """Clean a passage to a single safe line with single spaces, and move its marks along."""
    text = passage.text.replace(_BEGIN, "\ufffd").replace(_END, "\ufffd")
    pieces: list[str] = []
    before = 0
    for begin, end in _ordered(passage.marks, len(text)):
        pieces += [text[before:begin], _BEGIN, text[begin:end], _END]
        before = end
    pieces.append(text[before:])
    characters: list[str] = []
    marks: list[tuple[int, int]] = []
    begin = 0
    for character in clean("".join(pieces)):
        if character == _BEGIN:
            begin = len(characters)
        elif character == _END:
            marks.append((begin, len(characters)))
        elif not character.isspace():
            characters.append(character)
        elif characters and characters[-1] != " ":
            characters.append(" ")
    text = "".join(characters).rstrip()
    return Passage(text, tuple(_ordered(marks, len(text))))


def _ordered(marks: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """Sort marks, clip them to the text and remove overlaps."""
    ordered: list[tuple[int, int]] = []
    for begin, end in sorted(marks):
        begin, end = max(begin, ordered[-1][1] if ordered else 0), min(end, length)  # noqa: PLW2901
        if begin < end:
            ordered.append((begin, end))
    return ordered


def fitted(
    passage: Passage, columns: int | None, most: int = 2, *, beginning: bool = False
) -> list[Passage]:
    """Fit a cleaned passage to lines: all of it, its beginning, or around its first match."""
    if not passage.text:
        return []
    if columns is None:
        return [passage]
    if beginning or not passage.marks:
        return _lines(passage, 0, columns, most)
    lines = _lines(passage, _start(passage, columns * most), columns, most)
    if any(line.marks for line in lines):
        return lines
    # Long words filled the lines before the match.
    return _lines(passage, passage.marks[0][0], columns, most)


def _lines(passage: Passage, start: int, columns: int, most: int) -> list[Passage]:
    # Take only what can be visible: every character is measured, and prompts may be long.
    end = start + _MOST_IN_A_CELL * columns * (most + 1)
    part = _part(passage, start, end, _DOTS if start else "")
    lines: list[Passage] = []
    begin = end = 0
    for line in wrapped(part.text, columns):
        if len(lines) == most:
            lines[-1] = _dotted(lines[-1], _part(part, begin, len(part.text)), columns)
            break
        begin = part.text.index(line, end)
        end = begin + len(line)
        lines.append(_part(part, begin, end))
    return lines


def _dotted(last: Passage, rest: Passage, columns: int) -> Passage:
    """Mark the last line as cut. A long word that follows is cut, not left out."""
    whole = rest if cells(last.text) < columns * _FULL else last
    text = cut(whole.text + _DOTS, columns)
    return Passage(text, _part(whole, 0, len(text) - 1).marks)


def _start(passage: Passage, room: int) -> int:
    """Choose a start, at the beginning of a word, that keeps the first match visible."""
    text = passage.text
    first = passage.marks[0][0]
    if cells(text) <= room or cells(text[:first]) < room * _LEAD:
        return 0
    # Keep some room before the match, and fill the lines with the text after it.
    start = max(first - int(room * _LEAD), 0)
    start = min(start, max(len(text) - room, 0)) if cells(text) == len(text) else start
    space = text.find(" ", start, first)
    return space + 1 if space >= 0 else first


def _part(passage: Passage, begin: int, end: int, lead: str = "") -> Passage:
    shift = len(lead) - begin
    marks = [(a + shift, b + shift) for a, b in passage.marks if b > begin and a < end]
    text = lead + passage.text[begin:end]
    inside = [(max(a, len(lead)), b) for a, b in marks]
    return Passage(text, tuple(_ordered(inside, len(text))))


def within(passage: Passage, text: str) -> Passage | None:
    """Place the marks of a passage in the text that contains it; None if it does not."""
    part = passage.text.strip(f"{_DOTS} ")
    position = text.find(part)
    if position < 0 or not part:
        return None
    shift = position - passage.text.index(part)
    marks = [(a + shift, b + shift) for a, b in passage.marks]
    return Passage(text, tuple(_ordered(((max(a, 0), b) for a, b in marks), len(text))))
