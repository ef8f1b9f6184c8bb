"""Passages with highlighted matches."""

from prong.cli.output import styled
from prong.model.search import Passage


def highlighted(passage: Passage, *, dim: bool = False) -> str:
    """Make the matching words bold, and the rest dim on request."""
    pieces: list[str] = []
    before = 0
    for begin, end in passage.marks:
        pieces.append(_plain(passage.text[before:begin], dim=dim))
        pieces.append(styled(passage.text[begin:end], bold=True))
        before = end
    pieces.append(_plain(passage.text[before:], dim=dim))
    return "".join(pieces)


def _plain(text: str, *, dim: bool) -> str:
    return styled(text, dim=True) if dim else text
