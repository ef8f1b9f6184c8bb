"""A session in the tree of forks, in a line."""

from collections.abc import Hashable, Sequence

from prong.model.sessions import Session, SessionRef
from prong.model.workers import WorkerStatus
from prong.tui.content.worker_entry import sign_of, style_of
from prong.tui.widgets.lines import Line, line
from prong.views.lineage import LineageRow
from prong.views.text import cells, clean, cut, pad

_LEAST_TITLE = 24
"""Columns that a title wants before the name of the session may stand beside it."""
_GAP = 2


class TreeEntry:
    def __init__(
        self, row: LineageRow, worker: WorkerStatus | None = None, *, is_chosen: bool = False
    ) -> None:
        """`worker` has the session open."""
        self._row = row
        self._worker = worker
        self._mark = " *" if is_chosen else ""

    @property
    def ref(self) -> SessionRef:
        return self._row.node.ref

    @property
    def key(self) -> Hashable:
        return self.ref

    @property
    def session(self) -> Session | None:
        return self._row.node.session

    @property
    def point(self) -> str | None:
        """None where the session is gone: there is nothing to fork from."""
        return str(self.ref) if self.session else None

    def draw(self, columns: int) -> Sequence[Line]:
        row, one = self._row, self._worker
        who = ""
        if one is not None:
            who = f"  {sign_of(one.state)} {clean(one.worker.name)} {one.state.value}"
        left = columns - sum(map(cells, (row.lead, row.at, self._mark, who)))
        rest = row.rest if cells(row.rest) <= left - _GAP else ""
        left -= cells(rest)
        # The name says what the title does not, where there is none or room for both.
        has_name = not row.title or left >= cells(row.name) + _GAP + _LEAST_TITLE
        name = row.name if has_name else ""
        room = left - (cells(name) + _GAP if name else 0)
        title = pad(cut(row.title, max(room, 0)), room if row.title else left - cells(name))
        return (
            line(
                (row.lead, "rule"),
                (row.at, "dim"),
                (name, "name"),
                _GAP * " " if name and row.title else "",
                (title, "" if self.session else "dim"),
                (who, style_of(one.state) if one else ""),
                (rest, "dim"),
                (self._mark, "good"),
            ),
        )
