"""Trees of forks as lines: what stands in each, and how it is cut to fit. Colours come later."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prong.model.amounts import counted
from prong.views.text import age, cells, clean, cut, short_refs

if TYPE_CHECKING:
    from prong.sessions.lineage import Forest, LineageNode

_GAP = 2


class LineageRow(NamedTuple):
    """A session in a drawing of trees."""

    node: LineageNode
    lead: str
    """The branches before it."""
    at: str
    """`@3 `: the turn of its parent; empty for a root."""
    name: str
    """What to type for the session."""
    title: str
    """Empty where it would repeat that of its parent."""
    rest: str
    """How much was said in it, and when."""

    def fitted(self, columns: int | None) -> LineageRow:
        """With a title that fits, and the rest only where there is room. None is endless."""
        if columns is None:
            return self
        left = columns - cells(self.lead) - cells(self.at) - cells(self.name)
        rest = self.rest if cells(self.rest) <= left else ""
        return self._replace(title=cut(self.title, max(left - cells(rest) - _GAP, 0)), rest=rest)


def rows_of(forest: Forest) -> list[LineageRow]:
    """All of the trees, from the top to the bottom."""
    short = short_refs(forest.refs)
    rows: list[LineageRow] = []
    # With what is drawn before it, what before the lines below it, and the title above it.
    left: list[tuple[LineageNode, str, str, str | None]]
    left = [(root, "", "", None) for root in reversed(forest.roots)]
    while left:
        node, lead, below, above = left.pop()
        at = f"@{node.turn} " if node.turn is not None else ""
        rows.append(LineageRow(node, lead, at, short[node.ref], *_described(node, above)))
        own = node.session.title if node.session else ""
        for child in reversed(node.children):
            branch, under = ("└─ ", "   ") if child is node.children[-1] else ("├─ ", "│  ")
            left.append((child, below + branch, below + under, own))
    return rows


def _described(node: LineageNode, parent_title: str | None) -> tuple[str, str]:
    """The title, and what stands behind it."""
    session = node.session
    if session is None:
        return "(deleted)", ""
    rest = f"  {age(session.updated)}"
    if node.turn is not None and session.parent is not None:
        own = max(session.turn_count - session.inherited, 0)
        rest = f"  +{counted(own, 'turn')}{rest}"
    # A fork without a title of its own would repeat what stands above it.
    return ("" if session.title == parent_title else clean(session.title)), rest
