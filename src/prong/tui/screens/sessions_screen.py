"""Sessions screen: search turns as you type, with filters and a preview."""

import asyncio
import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input

from prong.model.sessions import Session
from prong.threads import Newest
from prong.tui.content import searching
from prong.tui.content.entries import FoundEntry, SessionEntry
from prong.tui.content.preview import Preview, SessionReader
from prong.tui.content.searching import Asked, Looked, look_up
from prong.tui.index_process import ENDED, IndexProcess, Step
from prong.tui.lanes import Lanes, settle
from prong.tui.screens.view import ListScreen, SelectedSession
from prong.tui.widgets.form import Choice, TextLine
from prong.tui.widgets.lines import Line
from prong.tui.widgets.rows import Rows
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
_FILTERS = ("agent", "project", "since", "code", "order")
"""Choices, each with its first letter as key; with Alt while typing."""


class SessionsScreen(ListScreen[FoundEntry | SessionEntry]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", key_display="/"),
        *(
            Binding(
                f"{alt}{name[0]}",
                f"turn('{name}')",
                name.capitalize(),
                show=False,
                priority=bool(alt),
            )
            for name in _FILTERS
            for alt in ("", "alt+")
        ),
        Binding("ctrl+r", "refresh", "Refresh", show=False),
        Binding("escape", "back", "Clear", show=False),
    ]

    def __init__(self, lanes: Lanes, agents: Sequence[str], *, query: str = "") -> None:
        super().__init__(lanes, Rows(2, id="found"), "")
        self._agents = agents
        self._search = TextLine(query, placeholder=searching.PLACEHOLDER, compact=True, id="search")
        self._words = Newest(lanes.words)
        self._meaning = Newest(lanes.meaning)
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

    def above(self) -> ComposeResult:
        yield self._search
        with Horizontal(id="filters"):
            agents = [("", "all"), *((name, name) for name in self._agents)]
            yield Choice("agent", agents, id="agent")
            yield Choice("project", self._projects(None), id="project")
            yield Choice("since", _SINCE, id="since")
            yield Choice("code", (("", "any"), ("kept", "kept")), id="code")
            yield Choice("order", (("", "best"), ("new", "newest")), id="order")

    def on_mount(self) -> None:
        self._search.focus()
        self._begin_search()
        self._bring_up_to_date()

    def on_unmount(self) -> None:
        self._index.end()

    def on_screen_suspend(self) -> None:
        self._is_awaited = False

    @property
    def selection(self) -> SelectedSession:
        highlight = self._looked.highlight if self._looked else None
        return super().selection._replace(highlight=highlight)

    # -- searching -----------------------------------------------------------------------------

    def _asked(self) -> Asked:
        def chosen(name: str) -> str | None:
            return self.query_one(f"#{name}", Choice).value or None

        project = chosen("project")
        return Asked(
            text=self._search.value,
            agent=chosen("agent"),
            project=Path(project) if project else None,
            since=chosen("since"),
            has_snapshot=chosen("code") is not None,
            newest_first=chosen("order") is not None,
            here=self._here,
        )

    @on(Input.Changed, "#search")
    @on(Choice.Changed)
    def _begin_search(self) -> None:
        self._meaning.drop()
        self._is_awaited = False
        self.run_worker(self._searched, group="search", exit_on_error=False)

    async def _searched(self, *, again: bool = False) -> None:
        """Search by keywords. If it is done `again`, only new results are shown."""
        query = self._asked()
        results = await self._look_up(self._words, query, fast=True)
        if results is None:
            if not again and query == self._asked():
                self._is_awaited = False  # it failed, and the error is shown
        elif not again or (query == self._asked() and self._is_news(results)):
            await self._show_words(query, results)

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
        is_first = not self.lanes.meaning.is_open
        better = await self._look_up(self._meaning, asked, fast=False)
        if is_first:
            # The sentence model and its libraries are loaded.
            settle()
        if better is not None and asked == self._asked():
            self._show(better)

    async def _look_up(self, lane: Newest, asked: Asked, *, fast: bool) -> Looked | None:
        return await self.told(
            lane.ask(lambda app: look_up(app.search, app.sessions, app.code, asked, fast=fast))
        )

    def _show(self, found: Looked) -> None:
        before, self._looked = self._looked, found
        if before is None:
            settle()  # the program is loaded
        # A new query resets the cursor; better results for the same query keep it.
        self.rows.fill(found.entries, keep=before is not None and before.asked == found.asked)
        if not found.entries:
            self.page.fill(searching.empty(found, is_indexing=bool(self._progress)))
        self.look()
        self._say()

    # -- the index -----------------------------------------------------------------------------

    def _bring_up_to_date(self) -> None:
        self._refreshed = time.monotonic()
        self._index.start()

    def _hear(self, step: Step) -> None:
        if step["phase"] == "searchable":
            # New turns can be found now.
            again = partial(self._searched, again=True)
            self.run_worker(again, group="search", exit_on_error=False)
        elif step["phase"] == "failed":
            self.notify(clean(str(step["message"])), severity="warning", markup=False)
        elif step == ENDED:
            self._refreshed = time.monotonic()
        self._progress = searching.progress(step)
        self._say()

    def _is_news(self, found: Looked) -> bool:
        """Return whether keyword results changed; otherwise the model's results stay."""
        current = self._looked
        return current is None or current.asked != found.asked or _keys(found) != self._by_words

    def _say(self) -> None:
        summary = searching.summary(self._looked) if self._looked else "reading sessions ..."
        self.status.update("   ".join(part for part in (summary, self._progress) if part))

    # -- preview -------------------------------------------------------------------------------

    def look(self) -> None:
        """Preview the selected entry, unless it is already shown."""
        entry, results = self.entry, self._looked
        target = (entry.key, results.asked) if entry and results else None
        if target == self._previewed:
            return
        self._previewed = target
        super().look()
        project = self.query_one("#project", Choice)
        if not project.value:
            project.offer(self._projects(entry.session if entry else None))

    def reader(self, entry: FoundEntry | SessionEntry) -> Callable[[SessionReader], Preview]:
        if isinstance(entry, SessionEntry):
            return partial(SessionReader.of_session, session=entry.listed)
        assert self._looked is not None
        highlight = self._looked.highlight
        return partial(SessionReader.of_hit, hit=entry.hit, highlight=highlight)

    async def preview(self) -> bool:
        try:
            is_shown = await super().preview()
        except Exception:
            # A bug, reported as such. Do not keep the preview of another entry.
            self._previewed = None
            self.page.fill([Line("This cannot be shown.", "title")])
            raise
        if not is_shown:
            self._previewed = None  # the cursor moved on, and may come back
        return is_shown

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
        moves = {
            "down": partial(self.rows.action_move, 1),
            "up": partial(self.rows.action_move, -1),
            "pagedown": partial(self.rows.action_page, 1),
            "pageup": partial(self.rows.action_page, -1),
        }
        if event.key in moves and isinstance(self.focused, Input):
            event.prevent_default().stop()
            moves[event.key]()

    @on(Input.Submitted, "#search")
    @on(Rows.Chosen)
    def _chosen(self) -> None:
        if self._looked is not None and self._looked.asked == self._asked():
            self.wish("turns")
        else:
            # The list shows the results of another query: wait for the right ones.
            self._is_awaited = True

    def action_search(self) -> None:
        self._search.focus()

    def action_turn(self, name: str) -> None:
        self.query_one(f"#{name}", Choice).action_turn(1)

    def action_refresh(self) -> None:
        self._refreshed = 0.0
        self._previewed = None  # the session may have grown
        self._begin_search()

    def action_back(self) -> None:
        """Go back from the list to the search field; from there, clear it."""
        if self.focused is not self._search:
            self._search.focus()
        elif self._search.value:
            self._search.value = ""


def _keys(found: Looked) -> tuple[Hashable, ...]:
    return tuple(entry.key for entry in found.entries)


def _here() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # the folder was deleted
        return None
