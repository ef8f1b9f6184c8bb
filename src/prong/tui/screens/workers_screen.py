"""Workers screen: the state of each worker, and keys to manage them."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from prong.model.amounts import counted
from prong.model.workers import WorkerState, WorkerStatus
from prong.tui.content.preview import LastExchange, SessionReader
from prong.tui.content.worker_entry import WorkerEntry, counts, described, entries_of
from prong.tui.lanes import Lanes
from prong.tui.screens.view import RESTED, ListScreen, SelectedSession
from prong.tui.widgets.lines import Line, line
from prong.tui.widgets.rows import Rows
from prong.tui.worker_acts import WorkerActs
from prong.tui.workers_watch import WorkersWatch
from prong.workers.service import recent

_ONLY_GONE = frozenset({"restart", "forget"})
_WITHOUT_GONE = frozenset({"send", "wait", "stop"})
_NO_WORKERS = (
    Line("No workers yet.", "title"),
    Line(),
    Line(
        "A worker is an agent that prong started. It has a name and runs in a pane, in a "
        "workspace of its own."
    ),
    Line(),
    line(("F", "name"), "  on a turn (F2, F3) runs a fork as a worker"),
    line(('prong run "write the parser"', "name"), "  starts one with a prompt"),
)


class WorkersScreen(ListScreen[WorkerEntry]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "act('attach')", "Attach"),
        Binding("s", "act('send')", "Send"),
        Binding("w", "act('wait')", "Wait"),
        Binding("x", "act('stop')", "Stop"),
        Binding("R", "act('restart')", "Restart"),
        Binding("X", "act('forget')", "Forget"),
        Binding("n", "act('rename')", "Rename", show=False),
        Binding("c", "act('clone')", "Clone"),
        Binding("l", "log", "Log", show=False),
        Binding("A", "everything", "Also long gone", show=False),
        Binding("ctrl+r", "refresh", "Refresh", show=False),
    ]
    PALETTE = False

    def __init__(self, lanes: Lanes) -> None:
        super().__init__(lanes, Rows(2, id="rows"), "looking at workers ...")
        self._everything = False
        self._acts = WorkerActs(self, lanes)
        self._found: Sequence[WorkerStatus] = ()
        self._lookout = WorkersWatch(lanes.workers, self._see, self.tell)
        self._last: dict[str, tuple[object, LastExchange]] = {}
        """Worker name to the state of its session when it was read, and its last turn."""
        self._read_now: str | None = None
        """The worker whose session is being read."""
        self._awaited: set[str] = set()
        self._next: str | None = None
        """The worker to select once it is listed."""

    def on_screen_resume(self) -> None:
        self._lookout.begin(self)

    def on_screen_suspend(self) -> None:
        self._lookout.end()
        # A dialog may be open above this screen; otherwise the user has left it.
        stack = self.ui.screen_stack
        if self not in stack or not isinstance(stack[-1], ModalScreen):
            self._awaited.clear()

    @property
    def selection(self) -> SelectedSession:
        name = self.entry.name if self.entry else ""
        session = self._last[name][1].session if name in self._last else None
        return super().selection._replace(session=session)

    # -- the list ------------------------------------------------------------------------------

    def _see(self, found: Sequence[WorkerStatus]) -> None:
        self._found = found
        shown = found if self._everything else recent(found)
        self.rows.fill(entries_of(shown, self._awaited))
        if self._next is not None and any(status.worker.name == self._next for status in shown):
            self.rows.move_to(self._next)
            self._next = None
        summary = counts(shown) or "no workers"
        if hidden := len(found) - len(shown):
            summary += f" · {counted(hidden, 'worker')} long gone: A shows all"
        self.status.update(summary)
        self.refresh_bindings()
        if shown:
            self._show_details()
            self._read()
        else:
            self.page.fill(_NO_WORKERS)

    def look(self) -> None:
        if self.entry is not None:
            self.page.scroll_home(animate=False, immediate=True, force=True)
            self.refresh_bindings()
            self._show_details()
            self._read()

    def _show_details(self) -> None:
        entry = self.entry
        if entry is None:
            return
        cached = self._last.get(entry.name)
        lines = list(described(entry.status, cached[1] if cached else None))
        if lines != self.page.lines:
            self.page.fill(lines, top=None)

    def _read(self) -> None:
        """Read the last turn of the selected worker if it has changed."""
        entry = self.entry
        if entry is None:
            return
        cached = self._last.get(entry.name)
        is_outdated = cached is None or cached[0] != _moment(entry.status)
        # Do not restart a read in progress: a long session would never be read to its end.
        if is_outdated and self._read_now != entry.name:
            self._read_now = entry.name
            self.run_worker(
                partial(self._read_turn, entry),
                group="preview",
                exclusive=True,
                exit_on_error=False,
            )

    async def _read_turn(self, entry: WorkerEntry) -> None:
        try:
            await asyncio.sleep(RESTED)
            exchange = await self.newest.ask(
                lambda app: SessionReader(app.sessions, app.code).last_turn(entry.status)
            )
        finally:
            if self._read_now == entry.name:
                self._read_now = None
        if exchange is not None:
            self._last[entry.name] = (_moment(entry.status), exchange)
            self._show_details()

    # -- keys ----------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide keys that do not apply to the selected worker."""
        if action != "act":
            return True
        if self.entry is None:
            return False
        is_gone = self.entry.status.state is WorkerState.GONE
        return parameters[0] not in (_WITHOUT_GONE if is_gone else _ONLY_GONE)

    @on(Rows.Chosen)
    def _chosen(self) -> None:
        self.action_act("attach")

    def action_act(self, name: str) -> None:
        """Begin an action on the selected worker."""
        worker = self.entry.name if self.entry else None
        if worker is None:
            return
        if name == "wait":
            # Cancel if it is already waited for.
            self._awaited ^= {worker}
            self._lookout.again()
            if worker not in self._awaited:
                return
        group = "wait" if name == "wait" else "act"
        self.run_worker(partial(self._act, name, worker), group=group, exit_on_error=False)

    async def _act(self, name: str, worker: str) -> None:
        if name == "wait":
            try:
                await self.told(self._acts.wait(worker, lambda: worker in self._awaited))
            finally:
                self._awaited.discard(worker)
        else:
            # An action that creates or renames a worker returns the name to select.
            self._next = await self.told(getattr(self._acts, name)(worker)) or self._next
        self._lookout.again()

    def action_log(self) -> None:
        self.wish("transcript")

    def action_everything(self) -> None:
        self._everything = not self._everything
        self._see(self._found)

    def action_refresh(self) -> None:
        self._last.clear()
        self._lookout.again()


def _moment(status: WorkerStatus) -> object:
    """Return a value that changes when the session gets new messages."""
    return (status.worker.session, status.turn, status.state, status.last_line)
