"""Lines of text with styled parts.

A style is a name, such as `dim` or `match`; styles.tcss defines it for every theme.
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
"""Component classes of widgets that draw lines."""


_LONGEST = 2_000
_LEAD = re.compile(r" *(?:[-+*>●] ?)? *")
"""Indentation and the sign of a diff or list, before the words of a line."""
_INLINE = re.compile(r"`[^`\n]+`|\*\*[^*\n]+\*\*")
_HEADING = re.compile(r"#{1,6}\s")
_FENCE = re.compile(r"\s*(```|~~~)")
_BULLET = re.compile(r"\s*([-*+]|\d+[.)])\s")


class Mark(NamedTuple):
    """A styled range of characters."""

    start: int
    end: int
    style: str


class Line(NamedTuple):
    text: str = ""
    style: str = ""
    """Style of the whole line."""
    marks: tuple[Mark, ...] = ()
    is_prose: bool = False
    """Whether to style Markdown."""
    hanging: int = 0
    """Indentation when wrapped; by default, the column where the words begin."""


def line(*pieces: str | tuple[str, str]) -> Line:
    """Build a line from pieces, some with a style."""
    text = ""
    marks: list[Mark] = []
    for piece in pieces:
        words, style = (piece, "") if isinstance(piece, str) else piece
        if words and style:
            marks.append(Mark(len(text), len(text) + len(words), style))
        text += words
    return Line(text, marks=tuple(marks))


def parted(lines: Iterable[Line]) -> Iterator[Line]:
    """Split very long lines: drawing part of a line examines all of it."""
    for whole in lines:
        if len(whole.text) <= _LONGEST:
            yield whole
            continue
        for start in range(0, len(whole.text), _LONGEST):
            marks = [
                Mark(mark.start - start, mark.end - start, mark.style)
                for mark in whole.marks
                if mark.end > start and mark.start < start + _LONGEST
            ]
            yield whole._replace(text=whole.text[start : start + _LONGEST], marks=tuple(marks))


class ScreenRow(NamedTuple):
    """Part of a line that fills one row of the screen."""

    line: int
    start: int
    end: int
    indent: int = 0
    """Indentation of a wrapped row, which aligns it with the words above."""


def rows_of(lines: Iterable[Line], columns: int) -> list[ScreenRow]:
    """Wrap lines. Short ASCII lines, which are most, take the fast path."""
    rows: list[ScreenRow] = []
    for number, item in enumerate(lines):
        text = item.text
        if len(text) <= columns and text.isascii():
            rows.append(ScreenRow(number, 0, len(text)))
        else:
            rows.extend(_broken(number, text, columns, item.hanging))
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
        # Break words longer than half a row: they are not words.
        cut = space if space > start + room // 2 else end
        yield ScreenRow(number, start, cut, indent)
        start = cut + 1 if text[cut : cut + 1] == " " else cut
        indent = hanging


def _fitting(text: str, start: int, columns: int) -> int:
    end = min(start + columns, len(text))
    if text[start:end].isascii():
        return end
    room = columns
    for position in range(start, len(text)):
        room -= cells(text[position])
        if room < 0:
            return max(position, start + 1)
    return len(text)


def drawn(
    text: str, marks: Iterable[Mark], styled: Callable[[str], Style], base: Style
) -> list[Segment]:
    """Split text into segments of one style; where marks overlap, the later one wins.

    Control characters are replaced here, because even ids may contain them.
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
    """Replace a control character by one character, because marks count characters."""
    if character.isprintable():
        return character
    return " " if character.isspace() else "\ufffd"


def strip_of(segments: list[Segment], columns: int, base: Style) -> Strip:
    """Fit segments to the width of the widget."""
    return Strip(segments).adjust_cell_length(columns, base)


# -- Markdown, with every character in its place -----------------------------------------------


def marks_in(text: str) -> list[Mark]:
    """Mark inline code, bold text and list signs in a line of prose."""
    if bullet := _BULLET.match(text):
        marks = [Mark(bullet.start(1), bullet.end(1), "name")]
    else:
        marks = []
    for match in _INLINE.finditer(text):
        style = "code" if match[0].startswith("`") else "bold"
        marks.append(Mark(match.start(), match.end(), style))
    return marks


def prose(text: str, style: str = "") -> Iterator[Line]:
    """Convert Markdown text to lines with styled headings and code blocks."""
    fence = None
    language = ""
    for raw in text.split("\n"):
        text_ = raw.expandtabs(4)
        delimiter = _FENCE.match(raw)
        rest = raw[delimiter.end() :].strip() if delimiter else ""
        if fence is None and delimiter:
            fence, language = delimiter[1], rest
            yield Line(text_, "dim")
        elif delimiter and delimiter[1] == fence and not rest:
            fence = None
            yield Line(text_, "dim")
        elif fence is not None:
            yield _diff_line(text_) if language == "diff" else Line(text_, "code")
        elif _HEADING.match(raw):
            yield Line(text_, "heading")
        elif raw.lstrip().startswith(">"):
            yield Line(text_, "dim", is_prose=True)
        else:
            yield Line(text_, style, is_prose=True)


def diff(lines: Iterable[str]) -> Iterator[Line]:
    return map(_diff_line, lines)


def _diff_line(text: str) -> Line:
    styles = {"+": "added", "-": "removed", "@": "hunk"}
    return Line(text, styles.get(text[:1], "code"))
