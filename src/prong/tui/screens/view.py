"""Base classes of the main screens, with the selection that actions apply to."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, cast

from textual import events
from textual.app import App as TextualApp
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Static
from textual.worker import Worker, WorkerState

from prong.errors import ProngError
from prong.model.sessions import Session
from prong.search.passages import Highlighter
from prong.threads import Newest
from prong.tui.content.preview import Preview, SessionReader
from prong.tui.lanes import Lanes
from prong.tui.widgets.page import Page
from prong.tui.widgets.rows import ListEntry, Rows
from prong.views.text import clean

T = TypeVar("T")
E = TypeVar("E", bound=ListEntry)

_WIDE = 110
"""Columns from which the preview is next to the list instead of below it."""
RESTED = 0.06
"""Seconds that the cursor rests on an entry before it is read."""

Wish = Literal["turns", "transcript", "diff", "resume", "fork", "tree", "back"]


def error_text(error: BaseException) -> str:
    """Return a message and its hint, for a notification."""
    if not isinstance(error, ProngError):
        return clean(str(error))
    return clean(error.message) + (f"\ntry: {clean(error.hint)}" if error.hint else "")


def report_bug(screen: Screen[Any], event: Worker.StateChanged) -> None:
    """Report an unexpected error of a Textual worker; the screen stays usable."""
    if event.state is WorkerState.ERROR:
        worker = cast(Worker[Any], event.worker)  # pyright: ignore[reportUnknownMemberType]
        error = worker.error
        if isinstance(error, ProngError):  # such as too little memory
            text = error_text(error)
        else:
            description = clean(f"{type(error).__name__}: {error}")
            text = f"{description}\nreport it: this is a bug in prong"
        screen.notify(text, severity="error", markup=False)


class SelectedSession(NamedTuple):
    """What actions apply to."""

    point: str | None = None
    """`SESSION[@TURN]`; None if nothing can be forked."""
    session: Session | None = None
    turn_number: int | None = None
    highlight: Highlighter | None = None
    """Search matches to highlight in screens opened from here."""


class MainScreen(Screen[None]):
    """A screen that is not a dialog."""

    class Wished(Message):
        """Request for an action on the selection."""

        def __init__(self, view: "MainScreen", wish: Wish) -> None:
            super().__init__()
            self.view = view
            self.wish: Wish = wish

    @property
    def selection(self) -> SelectedSession:
        return SelectedSession()

    def wish(self, wish: Wish) -> None:
        self.post_message(self.Wished(self, wish))

    def action_back(self) -> None:
        self.wish("back")

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        report_bug(self, event)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < _WIDE, "-narrow")

    @property
    def ui(self) -> TextualApp[Any]:
        """The application, with the type that Textual leaves open."""
        return cast(TextualApp[Any], self.app)  # pyright: ignore[reportUnknownMemberType]

    async def told(self, work: Awaitable[T]) -> T | None:
        """Await the work; report an error instead of raising it."""
        try:
            return await work
        except (ProngError, OSError) as error:
            self.tell(error)
        return None

    def tell(self, error: ProngError | OSError) -> None:
        self.notify(error_text(error), severity="warning", markup=False)


class ListScreen(MainScreen, Generic[E]):
    """A list with a preview of the selected entry, and a status line."""

    PALETTE: ClassVar[bool] = True
    """Whether the footer names the command palette."""

    def __init__(self, lanes: Lanes, rows: Rows, status: str) -> None:
        super().__init__()
        self.lanes = lanes
        self.rows = rows
        self.page = Page(id="preview")
        self.status = Static(status, id="status", markup=False)
        self.newest = Newest(lanes.reading)
        """Reads previews."""

    def above(self) -> ComposeResult:
        """Compose what is above the list."""
        yield from ()

    def compose(self) -> ComposeResult:
        yield from self.above()
        with Container(id="body"):
            yield self.rows
            yield self.page
        yield self.status
        yield Footer(compact=True, show_command_palette=self.PALETTE)

    @property
    def entry(self) -> E | None:
        return cast(E | None, self.rows.chosen)

    @property
    def selection(self) -> SelectedSession:
        entry = self.entry
        return (
            SelectedSession(entry.point, entry.session, entry.turn_number)
            if entry
            else SelectedSession()
        )

    def reader(self, entry: E) -> Callable[[SessionReader], Preview]:
        """Return what reads the preview of an entry, in a thread."""
        raise NotImplementedError

    def on_rows_moved(self) -> None:
        self.look()

    def look(self) -> None:
        self.run_worker(self.preview, group="preview", exclusive=True, exit_on_error=False)

    async def preview(self) -> bool:
        """Read only what stays selected; return False if the selection changed meanwhile."""
        entry = self.entry
        if entry is None:
            return False
        read = self.reader(entry)
        await asyncio.sleep(RESTED)
        content = await self.newest.ask(
            lambda app: SessionReader(app.sessions, app.code).attempt(read)
        )
        # The list may have been refilled, so compare keys.
        if content is None or self.entry is None or self.entry.key != entry.key:
            return False
        self.page.fill(content.lines, highlight=self.selection.highlight, top=content.top)
        return True
