"""Full-screen text: a transcript or a diff."""

from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Footer, Static

from prong.model.sessions import Session
from prong.search.passages import Highlighter
from prong.tui.content import preview
from prong.tui.content.preview import Reader
from prong.tui.lanes import Lanes
from prong.tui.screens.view import MainScreen, Wish
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
        read: Reader,
        *,
        session: Session | None = None,
        point: str | None = None,
        highlight: Highlighter | None = None,
    ) -> None:
        """`read` makes the lines, in a thread."""
        super().__init__()
        self.shows: Wish = shows
        self._lanes = lanes
        self._title = title
        self._read = read
        self._session = session
        self._point = point
        self._highlight = highlight

    def compose(self) -> ComposeResult:
        yield Static(clean(self._title), id="title", markup=False)
        yield Page(id="page")
        yield Footer(compact=True)

    def on_mount(self) -> None:
        self.query_one("#page", Page).focus()
        self.run_worker(self._fill, exit_on_error=False)

    async def _fill(self) -> None:
        content = await self._lanes.reading.do(partial(preview.attempt, read=self._read))
        page = self.query_one("#page", Page)
        page.fill(content.lines, highlight=self._highlight, top=content.top)

    @property
    def point(self) -> str | None:
        return self._point

    @property
    def session(self) -> Session | None:
        return self._session

    def action_back(self) -> None:
        self.wish("back")

    def action_page_down(self) -> None:
        self.query_one("#page", Page).action_page_down()

    def action_match(self, way: int) -> None:
        self.query_one("#page", Page).action_next_match(way)
