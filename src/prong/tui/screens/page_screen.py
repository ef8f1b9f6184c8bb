"""Full-screen text: a transcript or a diff."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Footer, Static

from prong.tui.content.preview import Preview, SessionReader
from prong.tui.lanes import Lanes
from prong.tui.screens.view import MainScreen, SelectedSession, Wish
from prong.tui.widgets.page import Page
from prong.views.text import clean


class PageScreen(MainScreen):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "Back"),
        Binding("space", "page_down", "Page down"),
        Binding("n", "match(1)", "Next match"),
    ]

    def __init__(
        self,
        lanes: Lanes,
        shows: Wish,
        title: str,
        read: Callable[[SessionReader], Preview],
        selection: SelectedSession,
    ) -> None:
        """`read` makes the lines, in a thread."""
        super().__init__()
        self.shows: Wish = shows
        self._lanes = lanes
        self._title = title
        self._read = read
        self._selection = selection
        self._page = Page(id="page")

    def compose(self) -> ComposeResult:
        yield Static(clean(self._title), id="title", markup=False)
        yield self._page
        yield Footer(compact=True)

    def on_mount(self) -> None:
        self._page.focus()
        self.run_worker(self._fill, exit_on_error=False)

    async def _fill(self) -> None:
        content = await self._lanes.reading.do(
            lambda app: SessionReader(app.sessions, app.code).attempt(self._read)
        )
        highlight = self._selection.highlight
        self._page.fill(content.lines, highlight=highlight, top=content.top)

    @property
    def selection(self) -> SelectedSession:
        return self._selection

    def action_page_down(self) -> None:
        self._page.action_page_down()

    def action_match(self, way: int) -> None:
        self._page.action_next_match(way)
