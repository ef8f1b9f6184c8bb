"""The first screen: search as you type over all turns, and look at what was found."""

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
"""Seconds without a key until the sentence model is asked."""
_STALE = 5.0
"""So old, in seconds, the list may be before a search looks for what is new."""
_SINCE = (
    ("", "any time"),
    ("1d", "1 day"),
    ("7d", "7 days"),
    ("30d", "30 days"),
    ("90d", "90 days"),
)
_PROJECT = 20
"""Columns of the name of a project, in a terminal of so many columns or more; else half of that."""
_ROOMY = 100
_MOVES = {"down": 1, "up": -1}
_PAGES = {"pagedown": 1, "pageup": -1}
"""Keys that move the cursor of the list while somebody types."""


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
        """What the words found last; the sentence model may add to it, or take from it."""
        self._refreshed = 0.0
        self._index = IndexProcess(self._hear)
        self._progress = ""
        self._here = _here()
        self._previewed: tuple[Hashable, Asked] | None = None
        """What the preview is of, or is being made of: an entry, and what it was found by."""
        self._is_awaited = False
        """Somebody pressed Enter before there was an answer."""

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

    # -- the place that is looked at -----------------------------------------------------------

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
        asked = self._asked()
        found = await self._look_up(self._words, asked, fast=True)
        if found is not None:
            await self._show_words(asked, found)
        elif asked == self._asked():
            self._is_awaited = False  # it failed, and that was told

    async def _show_words(self, asked: Asked, found: Looked) -> None:
        """What the words found; a moment later, what the sentence model makes of it."""
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
            # The sentence model, and all that runs it, was loaded.
            settle()
        if better is not None and asked == self._asked():
            self._show(better)

    async def _look_up(self, lane: Newest, asked: Asked, *, fast: bool) -> Looked | None:
        return await self.told(lane.ask(partial(look_up, asked=asked, fast=fast)))

    def _show(self, found: Looked) -> None:
        before, self._looked = self._looked, found
        if before is None:
            settle()  # the program is loaded
        # Another question has another best answer; the same one in a better order keeps the cursor.
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
        """The index is so far."""
        if step["phase"] == "searchable":
            # What is new is found now.
            self._search_again()
        elif step["phase"] == "failed":
            self.notify(clean(str(step["message"])), severity="warning", markup=False)
        elif step == ENDED:
            self._refreshed = time.monotonic()
        self._progress = words.progress(step)
        self._say()

    def _search_again(self) -> None:
        asked = self._asked()

        async def again() -> None:
            found = await self._look_up(self._words, asked, fast=True)
            if found is not None and asked == self._asked() and self._is_news(found):
                await self._show_words(asked, found)

        self.run_worker(again, group="search", exit_on_error=False)

    def _is_news(self, found: Looked) -> bool:
        """What the model made of it stays, unless the words find something else now."""
        shown = self._looked
        return shown is None or shown.asked != found.asked or _keys(found) != self._by_words

    def _say(self) -> None:
        status = self.query_one("#status", Static)
        told = words.status(self._looked) if self._looked else "reading sessions ..."
        status.update("   ".join(part for part in (told, self._progress) if part))

    # -- looking -------------------------------------------------------------------------------

    @on(Rows.Moved, "#found")
    def _look(self) -> None:
        """Read what the cursor is on, unless that is to be seen already."""
        entry, found = self._entry, self._looked
        wanted = (entry.key, found.asked) if entry and found else None
        if wanted == self._previewed:
            return
        self._previewed = wanted
        self.run_worker(self._preview, group="preview", exclusive=True, exit_on_error=False)
        project = self.query_one("#project", Choice)
        if not project.value:
            project.offer(self._projects(entry.session if entry else None))

    async def _preview(self) -> None:
        entry, found = self._entry, self._looked
        if entry is None or found is None:
            return
        try:
            seen = await self._looking.at(partial(_read, entry=entry, found=found))
        except Exception:
            # It is a bug, and told as one. The preview must not stay that of something else.
            self._previewed = None
            self.query_one("#preview", Page).fill(preview.nothing("This cannot be shown."))
            raise
        if seen is None:
            self._previewed = None  # the cursor went on, and may come back
        else:
            page = self.query_one("#preview", Page)
            page.fill(seen.lines, highlight=found.highlight, top=seen.top)

    def _projects(self, session: Session | None) -> list[tuple[str, str]]:
        """All, this folder, and that of the session where the cursor is."""
        offered = [("", "all")]
        if self._here is not None:
            offered.append((str(self._here), "here"))
        cwd = session.cwd if session else None
        if cwd and cwd != str(self._here):
            room = _PROJECT if self.size.width >= _ROOMY else _PROJECT // 2
            offered.append((cwd, cut(Path(short_path(cwd)).name, room)))
        return offered

    # -- keys ----------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """While somebody types, the arrows move in the list."""
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
            # What is in the list is the answer to another question: a moment, then.
            self._is_awaited = True

    def action_search(self) -> None:
        self.query_one("#search", Input).focus()

    def action_turn(self, name: str) -> None:
        self.query_one(f"#{name}", Choice).action_turn(1)

    def action_refresh(self) -> None:
        self._refreshed = 0.0
        self._previewed = None  # there may be more in it by now
        self._search()

    def action_back(self) -> None:
        """From the list to the words, from the words to nothing typed."""
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
    return tuple(one.key for one in found.entries)


def _here() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # the folder is gone
        return None
