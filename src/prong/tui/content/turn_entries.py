"""Rows of the turn list."""

from collections.abc import Hashable, Iterable, Sequence

from prong.model.sessions import Conversation, SessionRef, Turn
from prong.session.lineage import Forest
from prong.tui.widgets.lines import Line, Mark, line
from prong.views.turn_table import Layout, TurnTableRow, row

SNAPSHOT, COMPACTED, FORKED = "●", "≡", "Y"
MARKS = (
    (SNAPSHOT, "code captured"),
    (COMPACTED, "compacted before it"),
    (FORKED, "forked here"),
)
_ID = 8


class TurnTable:
    """Column widths shared by all rows of a session."""

    def __init__(self, rows: Sequence[TurnTableRow]) -> None:
        self._rows = rows
        self._layout: Layout | None = None

    def layout(self, columns: int) -> Layout:
        if self._layout is None or self._layout.room != columns:
            self._layout = Layout(self._rows, columns)
        return self._layout


class TurnEntry:
    def __init__(
        self, session: SessionRef, turn: Turn, told: TurnTableRow, table: TurnTable, marks: str
    ) -> None:
        self.turn = turn
        self._session = session
        self._row = told
        self._table = table
        self._marks = marks

    @property
    def key(self) -> Hashable:
        return self.turn.id

    @property
    def point(self) -> str:
        return f"{self._session}@{self.turn.id}"

    def draw(self, columns: int) -> Sequence[Line]:
        room = columns - len(MARKS) - 1
        start, prompt = self._table.layout(room).parts(self._row)
        style = "" if self.turn.kind.value == "human" else "dim"
        drawn = line((self._marks, "good"), " ", (start, "dim"), (prompt, style))
        if self.turn.changes is not None:
            begin = drawn.text.find(self._row.code)
            if self._row.code and begin >= 0:
                end = begin + len(self._row.code)
                drawn = drawn._replace(marks=(*drawn.marks, Mark(begin, end, "good")))
        return (drawn,)


def of_conversation(
    conversation: Conversation, forest: Forest | None, *, abandoned: bool
) -> list[TurnEntry]:
    """Return active turns in order, then the abandoned ones if wanted."""
    ref = conversation.session.ref
    forked = _forked_at(forest, ref)
    turns = [*conversation.turns, *(conversation.abandoned if abandoned else ())]
    rows = [_row(turn) for turn in turns]
    table = TurnTable(rows)
    return [
        TurnEntry(ref, turn, cells, table, _marks(turn, conversation.compactions, forked))
        for turn, cells in zip(turns, rows, strict=True)
    ]


def _row(turn: Turn) -> TurnTableRow:
    return row(turn, str(turn.index) if turn.index is not None else turn.id[:_ID])


def _marks(turn: Turn, compactions: Iterable[int], forked: set[int]) -> str:
    number = turn.index
    is_compacted = number is not None and number - 1 in compactions
    marks = (
        SNAPSHOT if turn.snapshot else " ",
        COMPACTED if is_compacted else " ",
        FORKED if number in forked else " ",
    )
    return "".join(marks)


def _forked_at(forest: Forest | None, ref: SessionRef) -> set[int]:
    """Return the turns at which the session was forked."""
    turns: set[int] = set()
    stack = list(forest.roots) if forest else []
    while stack:
        node = stack.pop()
        stack += node.children
        if node.ref == ref:
            turns |= {child.turn for child in node.children if child.turn is not None}
    return turns
