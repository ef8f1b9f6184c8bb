"""Tree screen: which session was forked from which, and which workers have them open."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from prong.model.amounts import counted
from prong.model.sessions import Session, SessionRef
from prong.model.workers import WorkerState, WorkerStatus
from prong.threads import Newest
from prong.tui.content.entries import TreeEntry
from prong.tui.content.preview import Preview, SessionReader
from prong.tui.lanes import Lanes
from prong.tui.screens.view import ListScreen
from prong.tui.widgets.lines import Line, line
from prong.tui.widgets.rows import Rows
from prong.tui.workers_watch import WorkersWatch
from prong.views.lineage import LineageRow, rows_of

_NO_SESSIONS = (
    Line("No sessions yet.", "title"),
    Line(),
    Line("Start claude or codex in a project and send a prompt."),
)
_NO_FORKS = (
    Line("No forks yet.", "title"),
    Line(),
    line(("F", "name"), "   on a turn forks the session; forks are listed here"),
    line(("F2", "name"), "  goes to the sessions, to pick a turn"),
    line(("A", "name"), "   shows sessions without forks, too"),
)
_DELETED = Line("This session was deleted; its forks are still there.", "dim")


class TreeScreen(ListScreen[TreeEntry]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("A", "everything", "All sessions"),
        Binding("ctrl+r", "refresh", "Refresh", show=False),
        Binding("escape", "back", "Back", show=False),
    ]
    PALETTE = False

    def __init__(self, lanes: Lanes, of: Session | None = None) -> None:
        """With `of`, show only that session's family."""
        super().__init__(lanes, Rows(1, id="rows"), "reading sessions ...")
        self._of = of
        self._everything = False
        self._trees = Newest(lanes.words)
        self._rows: Sequence[LineageRow] | None = None
        self._open: dict[SessionRef, WorkerStatus] = {}
        self._lookout = WorkersWatch(lanes.workers, self._see, self.tell)

    def on_screen_resume(self) -> None:
        self._load()
        self._lookout.begin(self)

    def on_screen_suspend(self) -> None:
        self._lookout.end()

    def _load(self) -> None:
        self.run_worker(self._loaded, group="tree", exclusive=True, exit_on_error=False)

    async def _loaded(self) -> None:
        of, everything = self._of, self._everything
        rows = await self.told(
            self._trees.ask(lambda app: rows_of(app.sessions.tree(of, everything=everything)))
        )
        if rows is None:
            return
        is_first = self._rows is None
        self._rows = rows
        self._show()
        if is_first and of is not None:
            self.rows.move_to(of.ref)
        if not rows:
            self.page.fill(_NO_SESSIONS if everything else _NO_FORKS)

    def _show(self) -> None:
        rows = self._rows or ()
        highlighted = self._of.ref if self._of else None
        self.rows.fill(
            [
                TreeEntry(row, self._open.get(row.node.ref), is_chosen=row.node.ref == highlighted)
                for row in rows
            ]
        )
        families = sum(not row.lead for row in rows)
        summary = f"{counted(len(rows), 'session')} in {counted(families, 'tree')}"
        if workers := sum(row.node.ref in self._open for row in rows):
            summary += f" · {counted(workers, 'worker')}"
        self.status.update(summary)

    def _see(self, found: list[WorkerStatus]) -> None:
        before = self._open
        self._open = {
            SessionRef(status.worker.agent, status.worker.session): status
            for status in found
            if status.worker.session and status.state is not WorkerState.GONE
        }
        if self._rows is not None and before != self._open:
            self._show()

    def reader(self, entry: TreeEntry) -> Callable[[SessionReader], Preview]:
        if entry.session is None:
            return lambda _: Preview([_DELETED])
        return partial(SessionReader.of_session, session=entry.session)

    @on(Rows.Chosen)
    def _turns(self) -> None:
        self.wish("turns")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide "All sessions" in the tree of one family."""
        return not (action == "everything" and self._of is not None)

    def action_everything(self) -> None:
        self._everything = not self._everything
        self._load()

    def action_refresh(self) -> None:
        self._load()
        self._lookout.again()
