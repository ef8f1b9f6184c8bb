"""Sessions screen: search turns as you type, with filters and a preview."""

import asyncio
import time
from collections.abc import Hashable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.widgets import Footer, Input, Static

from prong.app import App
from prong.model.sessions import Session
from prong.search.passages import Highlighter
from prong.threads import Newest
from prong.tui.content import preview, words
from prong.tui.content.entries import FoundEntry, SessionEntry
from prong.tui.content.preview import Preview
from prong.tui.content.searching import Asked, Looked, look_up
from prong.tui.garbage import settle
from prong.tui.index_process import ENDED, IndexProcess, Step
from prong.tui.lanes import Lanes
from prong.tui.looking import Looking
from prong.tui.screens.view import MainScreen
from prong.tui.widgets.choice import Choice
from prong.tui.widgets.page import Page
from prong.tui.widgets.rows import Rows
from prong.tui.widgets.text_line import TextLine
from prong.views.text import clean, cut, short_path

_SETTLED = 0.15
"""Seconds without a key before the search with the sentence model."""
_STALE = 5.0
"""Seconds after which a search also updates the index."""
_SINCE = (
    ("", "any time"),
    ("1d", "1 day"),
    ("7d", "7 days"),
    ("30d", "30 days"),
    ("90d", "90 days"),
)
_PROJECT = 20
"""Columns of a project name in a roomy terminal; half of it in others."""
_ROOMY = 100
_MOVES = {"down": 1, "up": -1}
_PAGES = {"pagedown": 1, "pageup": -1}
"""Keys that move the cursor of the list while typing."""


class SessionsScreen(MainScreen):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", key_display="/"),
        Binding("a", "turn('agent')", "Agent", show=False),
        Binding("alt+a", "turn('agent')", "Agent", show=False, priority=True),
        Binding("p", "turn('project')", "Project", show=False),
        Binding("alt+p", "turn('project')", "Project", show=False, priority=True),
        Binding("s", "turn('since')", "Since", show=False),
        Binding("alt+s", "turn('since')", "Since", show=False, priority=True),
        Binding("c", "turn('code')", "Code", show=False),
        Binding("alt+c", "turn('code')", "Code", show=False, priority=True),
        Binding("o", "turn('order')", "Order", show=False),
        Binding("alt+o", "turn('order')", "Order", show=False, priority=True),
        Binding("ctrl+r", "refresh", "Refresh", show=False),
        Binding("escape", "back", "Clear", show=False),
    ]

    def __init__(self, lanes: Lanes, agents: Sequence[str], *, query: str = "") -> None:
        super().__init__()
        self._lanes = lanes
        self._agents = agents
        self._query = query
        self._words = Newest(lanes.words)
        self._meaning = Newest(lanes.meaning)
        self._looking = Looking(lanes.reading, lambda: self._entry)
        self._looked: Looked | None = None
        self._by_words: tuple[Hashable, ...] = ()
        """Entries of the last keyword search; the sentence model may add or remove some."""
        self._refreshed = 0.0
        self._index = IndexProcess(self._hear)
        self._progress = ""
        self._here = _here()
        self._previewed: tuple[Hashable, Asked] | None = None
        """Entry and query that the preview shows or is loading."""
        self._is_awaited = False
        """Enter was pressed before the results arrived."""

    def compose(self) -> ComposeResult:
        yield TextLine(self._query, placeholder=words.SEARCH, compact=True, id="search")
        with Horizontal(id="filters"):
            agents = [("", "all"), *((name, name) for name in self._agents)]
            yield Choice("agent", agents, id="agent")
            yield Choice("project", self._projects(None), id="project")
            yield Choice("since", _SINCE, id="since")
            yield Choice("code", (("", "any"), ("kept", "kept")), id="code")
            yield Choice("order", (("", "best"), ("new", "newest")), id="order")
        with Container(id="body"):
            yield Rows(2, id="found")
            yield Page(id="preview")
        yield Static(id="status", markup=False)
        yield Footer(compact=True)

    def on_mount(self) -> None:
        self.query_one("#search", Input).focus()
        self._search()
        self._bring_up_to_date()

    def on_unmount(self) -> None:
        self._index.end()

    def on_screen_suspend(self) -> None:
        self._is_awaited = False

    # -- the selection -------------------------------------------------------------------------

    @property
    def _entry(self) -> FoundEntry | SessionEntry | None:
        chosen = self.query_one("#found", Rows).chosen
        return chosen if isinstance(chosen, FoundEntry | SessionEntry) else None

    @property
    def point(self) -> str | None:
        return self._entry.point if self._entry else None

    @property
    def session(self) -> Session | None:
        return self._entry.session if self._entry else None

    @property
    def turn_number(self) -> int | None:
        entry = self._entry
        return entry.hit.turn.index if isinstance(entry, FoundEntry) and entry.hit.turn else None

    @property
    def highlight(self) -> Highlighter | None:
        return self._looked.highlight if self._looked else None

    # -- searching -----------------------------------------------------------------------------

    def _asked(self) -> Asked:
        def chosen(name: str) -> str | None:
            return self.query_one(f"#{name}", Choice).value or None

        project = chosen("project")
        return Asked(
            text=self.query_one("#search", Input).value,
            agent=chosen("agent"),
            project=Path(project) if project else None,
            since=chosen("since"),
            has_snapshot=chosen("code") is not None,
            newest_first=chosen("order") is not None,
            here=self._here,
        )

    @on(Input.Changed, "#search")
    @on(Choice.Changed)
    def _search(self) -> None:
        self._meaning.drop()
        self._is_awaited = False
        self.run_worker(self._searched, group="search", exit_on_error=False)

    async def _searched(self) -> None:
        query = self._asked()
        results = await self._look_up(self._words, query, fast=True)
        if results is not None:
            await self._show_words(query, results)
        elif query == self._asked():
            self._is_awaited = False  # it failed, and the error is shown

    async def _show_words(self, asked: Asked, found: Looked) -> None:
        """Show the keyword results; a moment later, those of the sentence model."""
        self._by_words = _keys(found)
        self._show(found)
        if self._is_awaited:
            self._is_awaited = False
            self.wish("turns")
        await asyncio.sleep(_SETTLED)
        if asked != self._asked():
            return
        if time.monotonic() - self._refreshed > _STALE:
            self._bring_up_to_date()
        if not found.text:
            return
        is_first = not self._lanes.meaning.is_open
        better = await self._look_up(self._meaning, asked, fast=False)
        if is_first:
            # The sentence model and its libraries are loaded.
            settle()
        if better is not None and asked == self._asked():
            self._show(better)

    async def _look_up(self, lane: Newest, asked: Asked, *, fast: bool) -> Looked | None:
        return await self.told(lane.ask(partial(look_up, asked=asked, fast=fast)))

    def _show(self, found: Looked) -> None:
        before, self._looked = self._looked, found
        if before is None:
            settle()  # the program is loaded
        # A new query resets the cursor; better results for the same query keep it.
        self.query_one("#found", Rows).fill(
            found.entries, keep=before is not None and before.asked == found.asked
        )
        if not found.entries:
            page = self.query_one("#preview", Page)
            page.fill(words.empty(found, is_indexing=bool(self._progress)))
        self._look()
        self._say()

    # -- the index -----------------------------------------------------------------------------

    def _bring_up_to_date(self) -> None:
        self._refreshed = time.monotonic()
        self._index.start()

    def _hear(self, step: Step) -> None:
        """Handle a step of the index update."""
        if step["phase"] == "searchable":
            # New turns can be found now.
            self._search_again()
        elif step["phase"] == "failed":
            self.notify(clean(str(step["message"])), severity="warning", markup=False)
        elif step == ENDED:
            self._refreshed = time.monotonic()
        self._progress = words.progress(step)
        self._say()

    def _search_again(self) -> None:
        query = self._asked()

        async def again() -> None:
            results = await self._look_up(self._words, query, fast=True)
            if results is not None and query == self._asked() and self._is_news(results):
                await self._show_words(query, results)

        self.run_worker(again, group="search", exit_on_error=False)

    def _is_news(self, found: Looked) -> bool:
        """Return whether keyword results changed; otherwise the model's results stay."""
        current = self._looked
        return current is None or current.asked != found.asked or _keys(found) != self._by_words

    def _say(self) -> None:
        status = self.query_one("#status", Static)
        summary = words.status(self._looked) if self._looked else "reading sessions ..."
        status.update("   ".join(part for part in (summary, self._progress) if part))

    # -- preview -------------------------------------------------------------------------------

    @on(Rows.Moved, "#found")
    def _look(self) -> None:
        """Preview the selected entry, unless it is already shown."""
        entry, results = self._entry, self._looked
        target = (entry.key, results.asked) if entry and results else None
        if target == self._previewed:
            return
        self._previewed = target
        self.run_worker(self._preview, group="preview", exclusive=True, exit_on_error=False)
        project = self.query_one("#project", Choice)
        if not project.value:
            project.offer(self._projects(entry.session if entry else None))

    async def _preview(self) -> None:
        entry, results = self._entry, self._looked
        if entry is None or results is None:
            return
        try:
            content = await self._looking.at(partial(_read, entry=entry, found=results))
        except Exception:
            # A bug, reported as such. Do not keep the preview of another entry.
            self._previewed = None
            self.query_one("#preview", Page).fill(preview.nothing("This cannot be shown."))
            raise
        if content is None:
            self._previewed = None  # the cursor moved on, and may come back
        else:
            page = self.query_one("#preview", Page)
            page.fill(content.lines, highlight=results.highlight, top=content.top)

    def _projects(self, session: Session | None) -> list[tuple[str, str]]:
        """Return the project choices: all, this folder, and that of the selected session."""
        choices = [("", "all")]
        if self._here is not None:
            choices.append((str(self._here), "here"))
        cwd = session.cwd if session else None
        if cwd and cwd != str(self._here):
            room = _PROJECT if self.size.width >= _ROOMY else _PROJECT // 2
            choices.append((cwd, cut(Path(short_path(cwd)).name, room)))
        return choices

    # -- keys ----------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Move in the list with the arrow keys while typing."""
        if not isinstance(self.focused, Input):
            return
        rows = self.query_one("#found", Rows)
        if event.key in _MOVES:
            event.prevent_default().stop()
            rows.action_move(_MOVES[event.key])
        elif event.key in _PAGES:
            event.prevent_default().stop()
            rows.action_page(_PAGES[event.key])

    @on(Input.Submitted, "#search")
    @on(Rows.Chosen, "#found")
    def _chosen(self) -> None:
        if self._looked is not None and self._looked.asked == self._asked():
            self.wish("turns")
        else:
            # The list shows the results of another query: wait for the right ones.
            self._is_awaited = True

    def action_search(self) -> None:
        self.query_one("#search", Input).focus()

    def action_turn(self, name: str) -> None:
        self.query_one(f"#{name}", Choice).action_turn(1)

    def action_refresh(self) -> None:
        self._refreshed = 0.0
        self._previewed = None  # the session may have grown
        self._search()

    def action_back(self) -> None:
        """Go back from the list to the search field; from there, clear it."""
        search = self.query_one("#search", Input)
        if self.focused is not search:
            search.focus()
        elif search.value:
            search.value = ""


def _read(app: App, entry: FoundEntry | SessionEntry, found: Looked) -> Preview:
    if isinstance(entry, FoundEntry):
        return preview.of_hit(app, entry.hit, found.highlight)
    return preview.of_session(app, entry.session)


def _keys(found: Looked) -> tuple[Hashable, ...]:
    return tuple(entry.key for entry in found.entries)


def _here() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # the folder was deleted
        return None
