"""Entries of the fork tree, one line each."""

from collections.abc import Sequence

from prong.model.workers import WorkerStatus
from prong.tui.content.worker_entry import sign_of, style_of
from prong.tui.widgets.lines import Line, line
from prong.tui.widgets.rows import ListEntry
from prong.views.lineage import LineageRow
from prong.views.text import cells, clean, cut, pad

_LEAST_TITLE = 24
"""Columns to reserve for a title before the session's name is shown next to it."""
_GAP = 2


class TreeEntry(ListEntry):
    def __init__(
        self, row: LineageRow, worker: WorkerStatus | None = None, *, is_chosen: bool = False
    ) -> None:
        """`worker` has the session open."""
        self._row = row
        self._worker = worker
        self._mark = " *" if is_chosen else ""
        self.key = row.node.ref
        self.session = row.node.session
        if self.session is not None:  # it was not deleted
            self.point = str(row.node.ref)

    def draw(self, columns: int) -> Sequence[Line]:
        row, status = self._row, self._worker
        worker = ""
        if status is not None:
            worker = f"  {sign_of(status.state)} {clean(status.worker.name)} {status.state.value}"
        available = columns - sum(map(cells, (row.lead, row.at, self._mark, worker)))
        rest = row.rest if cells(row.rest) <= available - _GAP else ""
        available -= cells(rest)
        # Show the name if there is no title, or room for both.
        has_name = not row.title or available >= cells(row.name) + _GAP + _LEAST_TITLE
        name = row.name if has_name else ""
        room = available - (cells(name) + _GAP if name else 0)
        title = pad(cut(row.title, max(room, 0)), room if row.title else available - cells(name))
        return (
            line(
                (row.lead, "rule"),
                (row.at, "dim"),
                (name, "name"),
                _GAP * " " if name and row.title else "",
                (title, "" if self.session else "dim"),
                (worker, style_of(status.state) if status else ""),
                (rest, "dim"),
                (self._mark, "good"),
            ),
        )
