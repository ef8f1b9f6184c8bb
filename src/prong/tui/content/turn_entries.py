"""Rows of the turn list."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple, Self

from prong.model.sessions import Conversation, Session, SessionRef, Turn
from prong.session.lineage import Forest
from prong.tui.widgets.lines import Line, Mark, line
from prong.tui.widgets.rows import ListEntry
from prong.views.turn_table import Layout, TurnTableRow, row

SNAPSHOT, COMPACTED, FORKED = "●", "≡", "Y"
MARKS = (
    (SNAPSHOT, "code captured"),
    (COMPACTED, "compacted before it"),
    (FORKED, "forked here"),
)
_ID = 8

Layouts = Callable[[int], Layout]
"""Column widths for a number of columns."""


class TurnEntry(ListEntry):
    def __init__(
        self, session: Session, turn: Turn, row: TurnTableRow, layouts: Layouts, marks: str
    ) -> None:
        self.turn = turn
        self.key = turn.id
        self.point = f"{session.ref}@{turn.id}"
        self.session = session
        self.turn_number = turn.index
        self._row = row
        self._layouts = layouts
        self._marks = marks

    def draw(self, columns: int) -> Sequence[Line]:
        room = columns - len(MARKS) - 1
        start, prompt = self._layouts(room).parts(self._row)
        style = "" if self.turn.kind.value == "human" else "dim"
        drawn = line((self._marks, "good"), " ", (start, "dim"), (prompt, style))
        if self.turn.changes is not None:
            begin = drawn.text.find(self._row.code)
            if self._row.code and begin >= 0:
                end = begin + len(self._row.code)
                drawn = drawn._replace(marks=(*drawn.marks, Mark(begin, end, "good")))
        return (drawn,)


class SessionTurns(NamedTuple):
    """The turns of a session, as entries."""

    conversation: Conversation
    active: list[TurnEntry]
    everything: list[TurnEntry]
    """Including turns abandoned by rewinds."""

    @classmethod
    def of(cls, conversation: Conversation, forest: Forest) -> Self:
        forked = _forked_at(forest, conversation.session.ref)
        active, everything = (
            _entries(conversation, turns, forked)
            for turns in (conversation.turns, (*conversation.turns, *conversation.abandoned))
        )
        return cls(conversation, active, everything)


def _entries(
    conversation: Conversation, turns: Sequence[Turn], forked: set[int]
) -> list[TurnEntry]:
    rows = [row(turn, turn.id[:_ID] if turn.index is None else str(turn.index)) for turn in turns]
    # All rows share their column widths.
    layouts = lru_cache(maxsize=1)(partial(Layout, rows))
    return [
        TurnEntry(
            conversation.session,
            turn,
            cells,
            layouts,
            _marks(turn, conversation.compactions, forked),
        )
        for turn, cells in zip(turns, rows, strict=True)
    ]


def _marks(turn: Turn, compactions: Iterable[int], forked: set[int]) -> str:
    number = turn.index
    is_compacted = number is not None and number - 1 in compactions
    marks = (
        SNAPSHOT if turn.snapshot else " ",
        COMPACTED if is_compacted else " ",
        FORKED if number in forked else " ",
    )
    return "".join(marks)


def _forked_at(forest: Forest, ref: SessionRef) -> set[int]:
    """Return the turns at which the session was forked."""
    turns: set[int] = set()
    stack = list(forest.roots)
    while stack:
        node = stack.pop()
        stack += node.children
        if node.ref == ref:
            turns |= {child.turn for child in node.children if child.turn is not None}
    return turns
