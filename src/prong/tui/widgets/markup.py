"""The little of Markdown that can be shown in a line without moving its words."""

import re
from collections.abc import Iterable, Iterator

from prong.tui.widgets.lines import Line, Mark

_INLINE = re.compile(r"`[^`\n]+`|\*\*[^*\n]+\*\*")
_HEADING = re.compile(r"#{1,6}\s")
_FENCE = re.compile(r"\s*(```|~~~)")
_BULLET = re.compile(r"\s*([-*+]|\d+[.)])\s")


def marks_in(text: str) -> list[Mark]:
    """What is code, strong, or the sign of a list in a line of prose."""
    if bullet := _BULLET.match(text):
        found = [Mark(bullet.start(1), bullet.end(1), "name")]
    else:
        found = []
    for match in _INLINE.finditer(text):
        style = "code" if match[0].startswith("`") else "bold"
        found.append(Mark(match.start(), match.end(), style))
    return found


def prose(text: str, style: str = "") -> Iterator[Line]:
    """The lines of a Markdown text: headings and blocks of code stand out."""
    fence = None
    language = ""
    for one in text.split("\n"):
        text_ = one.expandtabs(4)
        opened = _FENCE.match(one)
        rest = one[opened.end() :].strip() if opened else ""
        if fence is None and opened:
            fence, language = opened[1], rest
            yield Line(text_, "dim")
        elif opened and opened[1] == fence and not rest:
            fence = None
            yield Line(text_, "dim")
        elif fence is not None:
            yield _diff_line(text_) if language == "diff" else Line(text_, "code")
        elif _HEADING.match(one):
            yield Line(text_, "heading")
        elif one.lstrip().startswith(">"):
            yield Line(text_, "dim", is_prose=True)
        else:
            yield Line(text_, style, is_prose=True)


def diff(lines: Iterable[str]) -> Iterator[Line]:
    """Lines that look like those of a diff."""
    return map(_diff_line, lines)


def _diff_line(text: str) -> Line:
    styles = {"+": "added", "-": "removed", "@": "hunk"}
    return Line(text, styles.get(text[:1], "code"))
