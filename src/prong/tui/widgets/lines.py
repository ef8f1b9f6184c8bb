"""Lines to be drawn: a text, and which parts of it look how.

A style is a name, such as `dim` or `match`; what it looks like is in styles.tcss, for every theme.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from prong.views.text import cells

STYLES = (
    "dim",
    "bold",
    "title",
    "name",
    "match",
    "prompt",
    "heading",
    "code",
    "tool",
    "failed",
    "added",
    "removed",
    "hunk",
    "warning",
    "good",
    "cursor",
    "rule",
)
CLASSES = {f"drawn--{name}" for name in STYLES}
"""What a widget that draws lines has as component classes."""


_LONGEST = 2_000
_LEAD = re.compile(r" *(?:[-+*>●] ?)? *")
"""What stands before the words of a line: its indent, the sign of a diff or of a list."""


class Mark(NamedTuple):
    """A part of a line, from one character up to another, and its style."""

    start: int
    end: int
    style: str


class Line(NamedTuple):
    text: str = ""
    style: str = ""
    """Of all of it."""
    marks: tuple[Mark, ...] = ()
    is_prose: bool = False
    """What Markdown means by its signs is shown, and matching words are."""
    hanging: int = 0
    """The column where it goes on when it is broken; else where its own words begin."""


def line(*pieces: str | tuple[str, str]) -> Line:
    """A line of pieces, some with a style."""
    text = ""
    marks: list[Mark] = []
    for piece in pieces:
        words, style = (piece, "") if isinstance(piece, str) else piece
        if words and style:
            marks.append(Mark(len(text), len(text) + len(words), style))
        text += words
    return Line(text, marks=tuple(marks))


def parted(lines: Iterable[Line]) -> Iterator[Line]:
    """The same lines, none of them very long: to draw a part of one, all of it is looked at."""
    for one in lines:
        if len(one.text) <= _LONGEST:
            yield one
            continue
        for start in range(0, len(one.text), _LONGEST):
            marks = [
                Mark(mark.start - start, mark.end - start, mark.style)
                for mark in one.marks
                if mark.end > start and mark.start < start + _LONGEST
            ]
            yield one._replace(text=one.text[start : start + _LONGEST], marks=tuple(marks))


class ScreenRow(NamedTuple):
    """What is in one line of the screen: a part of a line."""

    line: int
    start: int
    end: int
    indent: int = 0
    """Columns left free before it, so that a broken line stands below its own words."""


def rows_of(lines: Iterable[Line], columns: int) -> list[ScreenRow]:
    """The lines broken to fit. A short one, as most are, is not looked at any further."""
    rows: list[ScreenRow] = []
    for number, one in enumerate(lines):
        text = one.text
        if len(text) <= columns and text.isascii():
            rows.append(ScreenRow(number, 0, len(text)))
        else:
            rows.extend(_broken(number, text, columns, one.hanging))
    return rows


def _broken(number: int, text: str, columns: int, hanging: int) -> Iterator[ScreenRow]:
    if not hanging and (lead := _LEAD.match(text)):
        hanging = lead.end()
    if hanging > columns // 3:
        hanging = 0
    start = indent = 0
    while True:
        room = columns - indent
        end = _fitting(text, start, room)
        if end >= len(text):
            yield ScreenRow(number, start, len(text), indent)
            return
        space = text.rfind(" ", start + 1, end + 1)
        # A word that is longer than half a line is broken as well: it is no word.
        cut = space if space > start + room // 2 else end
        yield ScreenRow(number, start, cut, indent)
        start = cut + 1 if text[cut : cut + 1] == " " else cut
        indent = hanging


def _fitting(text: str, start: int, columns: int) -> int:
    """The end of what fits."""
    end = min(start + columns, len(text))
    if text[start:end].isascii():
        return end
    room = columns
    for at in range(start, len(text)):
        room -= cells(text[at])
        if room < 0:
            return max(at, start + 1)
    return len(text)


def drawn(
    text: str, marks: Iterable[Mark], styled: Callable[[str], Style], base: Style
) -> list[Segment]:
    """The text in pieces of one style each; where marks overlap, the later ones come on top.

    What a terminal would obey is not drawn, wherever the text is from: an id may have it, too.
    """
    if not text.isprintable():
        text = "".join(map(_harmless, text))
    edges = {0, len(text)}
    inside = [
        Mark(max(start, 0), min(end, len(text)), style)
        for start, end, style in marks
        if start < len(text) and end > 0
    ]
    for start, end, _ in inside:
        edges |= {start, end}
    ordered = sorted(edges)
    segments: list[Segment] = []
    for begin, end in pairwise(ordered):
        style = base
        for mark in inside:
            if mark.start <= begin and end <= mark.end:
                style += styled(mark.style)
        segments.append(Segment(text[begin:end], style))
    return segments


def _harmless(character: str) -> str:
    """The character, or one in its place: marks count characters."""
    if character.isprintable():
        return character
    return " " if character.isspace() else "\ufffd"


def strip_of(segments: list[Segment], columns: int, base: Style) -> Strip:
    """As wide as the screen is there."""
    return Strip(segments).adjust_cell_length(columns, base)
