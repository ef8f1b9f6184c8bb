"""A passage around a match: made harmless, and fitted into lines."""

from collections.abc import Iterable

from prong.model.search import Passage
from prong.views.text import cells, clean, cut, wrapped

_BEGIN, _END = "\ue000", "\ue001"
"""Stand where a mark begins and ends while the text is cleaned, which moves everything."""
_LEAD = 0.3
"""How much of the room stands before the first match, where not all fits."""
_FULL = 0.7
"""How much of a line is taken by words before one is left out as a whole."""
_MOST_IN_A_CELL = 4
"""Characters, counting those that stand above others."""
_DOTS = "…"


def cleaned(passage: Passage) -> Passage:
    """On one line, with nothing in it that a terminal would obey; the marks move along."""
    text = passage.text.replace(_BEGIN, "\ufffd").replace(_END, "\ufffd")
    pieces: list[str] = []
    before = 0
    for begin, end in _ordered(passage.marks, len(text)):
        pieces += [text[before:begin], _BEGIN, text[begin:end], _END]
        before = end
    pieces.append(text[before:])
    return _collapsed(_unmarked(clean("".join(pieces))))


def _ordered(marks: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """The marks as they should be: in order, inside of the text, none in another."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(marks):
        begin, end = max(begin, found[-1][1] if found else 0), min(end, length)  # noqa: PLW2901
        if begin < end:
            found.append((begin, end))
    return found


def _unmarked(text: str) -> Passage:
    kept: list[str] = []
    marks: list[tuple[int, int]] = []
    begin = 0
    for character in text:
        if character == _BEGIN:
            begin = len(kept)
        elif character == _END:
            marks.append((begin, len(kept)))
        else:
            kept.append(character)
    return Passage("".join(kept), tuple(mark for mark in marks if mark[0] < mark[1]))


def _collapsed(passage: Passage) -> Passage:
    """With one space between two words, whatever was there."""
    if passage.text == " ".join(passage.text.split()):
        return passage
    kept: list[str] = []
    places: list[int] = []
    """Where each character went; one that is left out, where the next one went."""
    for character in passage.text:
        places.append(len(kept))
        if not character.isspace():
            kept.append(character)
        elif kept and kept[-1] != " ":
            kept.append(" ")
    text = "".join(kept).rstrip()
    places.append(len(text))
    marks = [(places[begin], places[end]) for begin, end in passage.marks]
    return Passage(text, tuple(_ordered(marks, len(text))))


def fitted(
    passage: Passage, columns: int | None, most: int = 2, *, beginning: bool = False
) -> list[Passage]:
    """Lines of a cleaned passage: all of it, its beginning, or what is around its first match."""
    # Lines are broken between words, which puts one space between them.
    passage = _collapsed(passage)
    if not passage.text:
        return []
    if columns is None:
        return [passage]
    if beginning or not passage.marks:
        return _lines(passage, 0, columns, most)
    lines = _lines(passage, _start(passage, columns * most), columns, most)
    if any(line.marks for line in lines):
        return lines
    # Long words took the lines before the match.
    return _lines(passage, passage.marks[0][0], columns, most)


def _lines(passage: Passage, start: int, columns: int, most: int) -> list[Passage]:
    # More than can be shown, and not all of a long prompt: every character is measured.
    end = start + _MOST_IN_A_CELL * columns * (most + 1)
    shown = _part(passage, start, end, _DOTS if start else "")
    lines: list[Passage] = []
    begin = end = 0
    for line in wrapped(shown.text, columns):
        if len(lines) == most:
            lines[-1] = _dotted(lines[-1], _part(shown, begin, len(shown.text)), columns)
            break
        begin = shown.text.index(line, end)
        end = begin + len(line)
        lines.append(_part(shown, begin, end))
    return lines


def _dotted(last: Passage, rest: Passage, columns: int) -> Passage:
    """The last line, where more would follow. A long word that does is cut, not left out."""
    whole = rest if cells(last.text) < columns * _FULL else last
    text = cut(whole.text + _DOTS, columns)
    return Passage(text, _part(whole, 0, len(text) - 1).marks)


def _start(passage: Passage, room: int) -> int:
    """Where to begin, at the beginning of a word, so that the first match is to be seen."""
    text = passage.text
    first = passage.marks[0][0]
    if cells(text) <= room or cells(text[:first]) < room * _LEAD:
        return 0
    # As much before the match as there is room for; and what is behind it fills the lines.
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
    """The whole text with the marks of a passage that is a part of it; None when it is none."""
    part = passage.text.strip(f"{_DOTS} ")
    at = text.find(part)
    if at < 0 or not part:
        return None
    shift = at - passage.text.index(part)
    marks = [(a + shift, b + shift) for a, b in passage.marks]
    return Passage(text, tuple(_ordered(((max(a, 0), b) for a, b in marks), len(text))))
