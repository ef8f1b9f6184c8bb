"""Fork trees as text rows, cut to fit; each front end adds its own colours."""

from typing import NamedTuple, Self

from prong.model.amounts import counted
from prong.session.lineage import Forest, LineageNode
from prong.views.text import age, cells, clean, cut, short_refs

_GAP = 2


class LineageRow(NamedTuple):
    node: LineageNode
    lead: str
    """The branches drawn before the session."""
    at: str
    """Turn of the parent, as `@3 `; empty for a root."""
    name: str
    """Short reference to type."""
    title: str
    """Title, or empty if the parent has the same."""
    rest: str
    """Number of turns and age."""

    def fitted(self, columns: int | None) -> Self:
        """Cut the title to fit, and drop `rest` if there is no room. None means unlimited."""
        if columns is None:
            return self
        room = columns - cells(self.lead) - cells(self.at) - cells(self.name)
        rest = self.rest if cells(self.rest) <= room else ""
        return self._replace(title=cut(self.title, max(room - cells(rest) - _GAP, 0)), rest=rest)


def rows_of(forest: Forest) -> list[LineageRow]:
    """Return the rows of all trees, top to bottom."""
    short = short_refs(forest.refs)
    rows: list[LineageRow] = []
    # Stack of (node, lead of its row, lead of the rows below it, title of its parent).
    stack: list[tuple[LineageNode, str, str, str | None]]
    stack = [(root, "", "", None) for root in reversed(forest.roots)]
    while stack:
        node, lead, below, above = stack.pop()
        at = f"@{node.turn} " if node.turn is not None else ""
        rows.append(LineageRow(node, lead, at, short[node.ref], *_described(node, above)))
        title = node.session.title if node.session else ""
        for child in reversed(node.children):
            branch, under = ("└─ ", "   ") if child is node.children[-1] else ("├─ ", "│  ")
            stack.append((child, below + branch, below + under, title))
    return rows


def _described(node: LineageNode, parent_title: str | None) -> tuple[str, str]:
    session = node.session
    if session is None:
        return "(deleted)", ""
    rest = f"  {age(session.updated)}"
    if node.turn is not None and session.parent is not None:
        new_turns = max(session.turn_count - session.inherited, 0)
        rest = f"  +{counted(new_turns, 'turn')}{rest}"
    # A fork without its own title would repeat its parent's.
    return ("" if session.title == parent_title else clean(session.title)), rest
