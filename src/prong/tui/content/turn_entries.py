"""The turns of a session as rows: what each took and changed, and what begins or ends there."""

from collections.abc import Hashable, Iterable, Sequence

from prong.model.sessions import Conversation, SessionRef, Turn
from prong.sessions.lineage import Forest
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
    """What all rows of a session share: how wide the columns are."""

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
        one = line((self._marks, "good"), " ", (start, "dim"), (prompt, style))
        if self.turn.changes is not None:
            at = one.text.find(self._row.code)
            if self._row.code and at >= 0:
                end = at + len(self._row.code)
                one = one._replace(marks=(*one.marks, Mark(at, end, "good")))
        return (one,)


def of_conversation(
    conversation: Conversation, forest: Forest | None, *, abandoned: bool
) -> list[TurnEntry]:
    """The active turns in order; those that a rewind left behind them, if wanted."""
    ref = conversation.session.ref
    forked = _forked_at(forest, ref)
    turns = [*conversation.turns, *(conversation.abandoned if abandoned else ())]
    rows = [_row(turn) for turn in turns]
    table = TurnTable(rows)
    return [
        TurnEntry(ref, turn, told, table, _marks(turn, conversation.compactions, forked))
        for turn, told in zip(turns, rows, strict=True)
    ]


def _row(turn: Turn) -> TurnTableRow:
    return row(turn, str(turn.index) if turn.index is not None else turn.id[:_ID])


def _marks(turn: Turn, compactions: Iterable[int], forked: set[int]) -> str:
    number = turn.index
    is_compacted = number is not None and number - 1 in compactions
    found = (
        SNAPSHOT if turn.snapshot else " ",
        COMPACTED if is_compacted else " ",
        FORKED if number in forked else " ",
    )
    return "".join(found)


def _forked_at(forest: Forest | None, ref: SessionRef) -> set[int]:
    """The turns at which sessions were forked."""
    found: set[int] = set()
    waiting = list(forest.roots) if forest else []
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.ref == ref:
            found |= {child.turn for child in node.children if child.turn is not None}
    return found
