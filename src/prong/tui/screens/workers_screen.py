"""Workers screen: the state of each worker, and keys to manage them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from prong.model.amounts import counted
from prong.model.sessions import Session
from prong.model.workers import WorkerState, WorkerStatus
from prong.threads import Newest
from prong.tui.content.worker_entry import WorkerEntry, counts, entries_of
from prong.tui.content.worker_preview import LastExchange, described, last_turn
from prong.tui.lanes import Lanes
from prong.tui.looking import RESTED
from prong.tui.screens.view import MainScreen
from prong.tui.widgets.lines import Line, line
from prong.tui.widgets.page import Page
from prong.tui.widgets.rows import Rows
from prong.tui.worker_acts import WorkerActs
from prong.tui.workers_watch import WorkersWatch
from prong.workers.service import recent

_ONLY_GONE = frozenset({"restart", "forget"})
_WITHOUT_GONE = frozenset({"send", "wait", "stop"})
_ACTS = frozenset({"attach", "rename", "clone"}) | _ONLY_GONE | _WITHOUT_GONE


class WorkersScreen(MainScreen):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "attach", "Attach"),
        Binding("s", "send", "Send"),
        Binding("w", "wait", "Wait"),
        Binding("x", "stop", "Stop"),
        Binding("R", "restart", "Restart"),
        Binding("X", "forget", "Forget"),
        Binding("n", "rename", "Rename", show=False),
        Binding("c", "clone", "Clone"),
        Binding("l", "log", "Log", show=False),
        Binding("A", "everything", "Also long gone", show=False),
        Binding("ctrl+r", "refresh", "Refresh", show=False),
    ]

    def __init__(self, lanes: Lanes) -> None:
        super().__init__()
        self._lanes = lanes
        self._list = Rows(2, id="rows")
        self._page = Page(id="preview")
        self._status = Static("looking at workers ...", id="status", markup=False)
        self._everything = False
        self._acts = WorkerActs(self, lanes)
        self._found: Sequence[WorkerStatus] = ()
        self._lookout = WorkersWatch(lanes.workers, self._see, self.tell)
        self._turns = Newest(lanes.reading)
        self._last: dict[str, tuple[object, LastExchange]] = {}
        """Worker name to the state of its session when it was read, and its last turn."""
        self._read_now: str | None = None
        """The worker whose session is being read."""
        self._awaited: set[str] = set()
        self._next: str | None = None
        """The worker to select once it is listed."""

    def compose(self) -> ComposeResult:
        with Container(id="body"):
            yield self._list
            yield self._page
        yield self._status
        yield Footer(compact=True, show_command_palette=False)

    def on_screen_resume(self) -> None:
        self._lookout.begin(self)

    def on_screen_suspend(self) -> None:
        self._lookout.end()
        # A dialog may be open above this screen; otherwise the user has left it.
        stack = self.ui.screen_stack
        if self not in stack or not isinstance(stack[-1], ModalScreen):
            self._awaited.clear()

    # -- the selection -------------------------------------------------------------------------

    @property
    def _entry(self) -> WorkerEntry | None:
        chosen = self._list.chosen
        return chosen if isinstance(chosen, WorkerEntry) else None

    @property
    def point(self) -> str | None:
        return self._entry.point if self._entry else None

    @property
    def session(self) -> Session | None:
        entry = self._entry
        return self._last[entry.name][1].session if entry and entry.name in self._last else None

    # -- the list ------------------------------------------------------------------------------

    def _see(self, found: Sequence[WorkerStatus]) -> None:
        self._found = found
        shown = found if self._everything else recent(found)
        self._list.fill(entries_of(shown, self._awaited))
        if self._next is not None and any(status.worker.name == self._next for status in shown):
            self._list.move_to(self._next)
            self._next = None
        summary = counts(shown) or "no workers"
        if hidden := len(found) - len(shown):
            summary += f" · {counted(hidden, 'worker')} long gone: A shows all"
        self._status.update(summary)
        self.refresh_bindings()
        if shown:
            self._show_details()
            self._read()
        else:
            self._page.fill(_empty())

    @on(Rows.Moved, "#rows")
    def _moved(self) -> None:
        if self._entry is not None:
            self._page.scroll_home(animate=False, immediate=True, force=True)
            self.refresh_bindings()
            self._show_details()
            self._read()

    def _show_details(self) -> None:
        entry = self._entry
        if entry is None:
            return
        cached = self._last.get(entry.name)
        lines = list(described(entry.status, cached[1] if cached else None))
        if lines != self._page.lines:
            self._page.fill(lines, top=None)

    def _read(self) -> None:
        """Read the last turn of the selected worker if it has changed."""
        entry = self._entry
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
            exchange = await self._turns.ask(partial(last_turn, status=entry.status))
        finally:
            if self._read_now == entry.name:
                self._read_now = None
        if exchange is not None:
            self._last[entry.name] = (_moment(entry.status), exchange)
            self._show_details()

    # -- keys ----------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide keys that do not apply to the selected worker."""
        if action not in _ACTS:
            return True
        entry = self._entry
        if entry is None:
            return False
        return action not in (_WITHOUT_GONE if _is_gone(entry) else _ONLY_GONE)

    @on(Rows.Chosen, "#rows")
    def _chosen(self) -> None:
        self._begin(self._acts.attach)

    def action_attach(self) -> None:
        self._begin(self._acts.attach)

    def action_send(self) -> None:
        self._begin(self._acts.send)

    def action_stop(self) -> None:
        self._begin(self._acts.stop)

    def action_restart(self) -> None:
        self._begin(self._acts.restart)

    def action_forget(self) -> None:
        self._begin(self._acts.forget)

    def action_rename(self) -> None:
        self._begin(self._acts.rename)

    def action_clone(self) -> None:
        self._begin(self._acts.clone)

    def action_wait(self) -> None:
        """Wait for the selected worker; cancel if it is already waited for."""
        name = self._entry.name if self._entry else ""
        if name in self._awaited:
            self._awaited.discard(name)
            self._lookout.again()
        elif name:
            self._awaited.add(name)
            self._begin(self._wait, group="wait")
            self._lookout.again()

    def action_log(self) -> None:
        self.wish("transcript")

    def action_everything(self) -> None:
        self._everything = not self._everything
        self._see(self._found)

    def action_refresh(self) -> None:
        self._last.clear()
        self._lookout.again()

    async def _wait(self, name: str) -> None:
        try:
            await self._acts.wait(name, lambda: name in self._awaited)
        finally:
            self._awaited.discard(name)

    def _begin(self, act: Callable[[str], Awaitable[str | None]], group: str = "act") -> None:
        """Run an action on the selected worker. It may return the name to select next."""
        entry = self._entry
        if entry is None:
            return

        async def done() -> None:
            self._next = await self.told(act(entry.name)) or self._next
            self._lookout.again()

        self.run_worker(done, group=group, exit_on_error=False)


def _is_gone(entry: WorkerEntry) -> bool:
    return entry.status.state is WorkerState.GONE


def _moment(status: WorkerStatus) -> object:
    """Return a value that changes when the session gets new messages."""
    return (status.worker.session, status.turn, status.state, status.last_line)


def _empty() -> list[Line]:
    """Return advice for an empty list."""
    return [
        Line("No workers yet.", "title"),
        Line(),
        Line(
            "A worker is an agent that prong started. It has a name and runs in a pane, in a "
            "workspace of its own."
        ),
        Line(),
        line(("F", "name"), "  on a turn (F2, F3) runs a fork as a worker"),
        line(('prong run "write the parser"', "name"), "  starts one with a prompt"),
    ]
