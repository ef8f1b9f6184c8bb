"""Markdown styles that keep every character in place."""

import re
from collections.abc import Iterable, Iterator

from prong.tui.widgets.lines import Line, Mark

_INLINE = re.compile(r"`[^`\n]+`|\*\*[^*\n]+\*\*")
_HEADING = re.compile(r"#{1,6}\s")
_FENCE = re.compile(r"\s*(```|~~~)")
_BULLET = re.compile(r"\s*([-*+]|\d+[.)])\s")


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
