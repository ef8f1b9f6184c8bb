"""Tree screen: which session was forked from which, and which workers have them open."""

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Footer, Static

from prong.app import App
from prong.model.amounts import counted
from prong.model.sessions import Session, SessionRef
from prong.model.workers import WorkerState, WorkerStatus
from prong.threads import Newest
from prong.tui.content import preview
from prong.tui.content.preview import Preview
from prong.tui.content.tree_entry import TreeEntry
from prong.tui.lanes import Lanes
from prong.tui.looking import Looking
from prong.tui.screens.view import MainScreen
from prong.tui.widgets.lines import Line, line
from prong.tui.widgets.page import Page
from prong.tui.widgets.rows import Rows
from prong.tui.workers_watch import WorkersWatch
from prong.views.lineage import LineageRow, rows_of


class TreeScreen(MainScreen):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("A", "everything", "All sessions"),
        Binding("ctrl+r", "refresh", "Refresh", show=False),
        Binding("escape", "back", "Back", show=False),
    ]

    def __init__(self, lanes: Lanes, of: Session | None = None) -> None:
        """With `of`, show only that session's family."""
        super().__init__()
        self._lanes = lanes
        self._list = Rows(1, id="rows")
        self._page = Page(id="preview")
        self._status = Static("reading sessions ...", id="status", markup=False)
        self._of = of
        self._everything = False
        self._trees = Newest(lanes.words)
        self._looking = Looking(lanes.reading, lambda: self._entry)
        self._rows: Sequence[LineageRow] | None = None
        self._open: dict[SessionRef, WorkerStatus] = {}
        self._lookout = WorkersWatch(lanes.workers, self._see, self.tell)

    def compose(self) -> ComposeResult:
        with Container(id="body"):
            yield self._list
            yield self._page
        yield self._status
        yield Footer(compact=True, show_command_palette=False)

    def on_screen_resume(self) -> None:
        self._load()
        self._lookout.begin(self)

    def on_screen_suspend(self) -> None:
        self._lookout.end()

    # -- the selection -------------------------------------------------------------------------

    @property
    def _entry(self) -> TreeEntry | None:
        chosen = self._list.chosen
        return chosen if isinstance(chosen, TreeEntry) else None

    @property
    def point(self) -> str | None:
        return self._entry.point if self._entry else None

    @property
    def session(self) -> Session | None:
        return self._entry.session if self._entry else None

    # -- the trees -----------------------------------------------------------------------------

    def _load(self) -> None:
        self.run_worker(self._loaded, group="tree", exclusive=True, exit_on_error=False)

    async def _loaded(self) -> None:
        read = partial(_rows, of=self._of, everything=self._everything)
        rows = await self.told(self._trees.ask(read))
        if rows is None:
            return
        is_first = self._rows is None
        self._rows = rows
        self._show()
        if is_first and self._of is not None:
            self._list.move_to(self._of.ref)
        if not rows:
            self._page.fill(_empty(everything=self._everything))

    def _show(self) -> None:
        rows = self._rows or ()
        highlighted = self._of.ref if self._of else None
        entries = [
            TreeEntry(row, self._open.get(row.node.ref), is_chosen=row.node.ref == highlighted)
            for row in rows
        ]
        self._list.fill(entries)
        families = sum(not row.lead for row in rows)
        summary = f"{counted(len(rows), 'session')} in {counted(families, 'tree')}"
        workers = sum(row.node.ref in self._open for row in rows)
        if workers:
            summary += f" · {counted(workers, 'worker')}"
        self._status.update(summary)

    def _see(self, found: list[WorkerStatus]) -> None:
        """Update the workers shown in the tree."""
        before = self._open
        self._open = {
            SessionRef(status.worker.agent, status.worker.session): status
            for status in found
            if status.worker.session and status.state is not WorkerState.GONE
        }
        if self._rows is not None and before != self._open:
            self._show()

    # -- preview -------------------------------------------------------------------------------

    @on(Rows.Moved, "#rows")
    def _look(self) -> None:
        self.run_worker(self._preview, group="preview", exclusive=True, exit_on_error=False)

    async def _preview(self) -> None:
        entry = self._entry
        if entry is None:
            return
        content = await self._looking.at(partial(_read, session=entry.session))
        if content is not None:
            self._page.fill(content.lines, top=content.top)

    # -- keys ----------------------------------------------------------------------------------

    @on(Rows.Chosen, "#rows")
    def _chosen(self) -> None:
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

    def action_back(self) -> None:
        self.wish("back")


def _rows(app: App, *, of: Session | None, everything: bool) -> list[LineageRow]:
    return rows_of(app.sessions.tree(of, everything=everything))


def _read(app: App, session: Session | None) -> Preview:
    if session is None:
        return Preview([Line("This session was deleted; its forks are still there.", "dim")])
    return preview.of_session(app, session)


def _empty(*, everything: bool) -> list[Line]:
    """Return advice for an empty tree."""
    if everything:
        return [
            Line("No sessions yet.", "title"),
            Line(),
            Line("Start claude or codex in a project and send a prompt."),
        ]
    return [
        Line("No forks yet.", "title"),
        Line(),
        line(("F", "name"), "   on a turn forks the session; forks are listed here"),
        line(("F2", "name"), "  goes to the sessions, to pick a turn"),
        line(("A", "name"), "   shows sessions without forks, too"),
    ]
