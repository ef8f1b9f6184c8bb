"""The terminal UI draws what is seen, however much there is."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from prong.tui import ui
from prong.tui.widgets import page as page_module
from prong.tui.widgets.drawing import Drawing
from prong.tui.widgets.lines import Line, ScreenRow
from prong.tui.widgets.page import Page
from prong.tui.widgets.rows import ListEntry, Rows

pytestmark = pytest.mark.perf

HEIGHT = 24
STYLES = Path(ui.__file__).with_name("styles.tcss")


class _Shown(App[None]):
    CSS_PATH = STYLES

    def compose(self) -> ComposeResult:
        yield Page(id="page")
        yield Rows(2, id="rows")


T = TypeVar("T", Page, Rows)


@asynccontextmanager
async def only(kind: type[T]) -> AsyncGenerator[tuple[T, Pilot[None]]]:
    """The whole screen is one of the two."""
    shown = _Shown()
    async with shown.run_test(size=(80, HEIGHT)) as pilot:
        for one in shown.query(Drawing):
            one.display = isinstance(one, kind)
        await pilot.pause()
        yield shown.query_one(kind), pilot


class _Entry(ListEntry):
    drawn = 0

    def __init__(self, number: int) -> None:
        self.number = self.key = number

    def draw(self, columns: int) -> Sequence[Line]:
        _Entry.drawn += 1
        return (Line(f"entry {self.number}"), Line("more"))


def test_a_transcript_of_20_000_lines() -> None:
    async def story() -> None:
        async with only(Page) as (page, pilot):
            looked: list[str] = []

            def highlight(text: str) -> list[tuple[int, int]]:
                looked.append(text)
                return []

            page.drawn_rows = 0
            lines = [Line(f"line {number} " + "word " * (number % 40)) for number in range(20_000)]
            page.fill(lines, highlight=highlight, top=15_000)
            while len(page.lines) < 20_000 or not page.scroll_offset.y:
                await pilot.pause(0.01)
            await pilot.pause()
            assert page.scroll_offset.y > 15_000
            assert 0 < page.drawn_rows <= 3 * HEIGHT
            # Only what is drawn is looked at for matches, and for Markdown.
            assert len(looked) <= page.drawn_rows
            before = page.drawn_rows
            page.action_page_down()
            await pilot.pause()
            assert page.drawn_rows - before <= 2 * HEIGHT

    asyncio.run(story())


def test_a_list_of_5_000_entries() -> None:
    async def story() -> None:
        async with only(Rows) as (rows, pilot):
            _Entry.drawn = 0
            rows.fill([_Entry(number) for number in range(5_000)])
            await pilot.pause()
            assert 0 < _Entry.drawn <= 3 * HEIGHT
            rows.action_go(-1)
            await pilot.pause()
            assert _Entry.drawn <= 6 * HEIGHT
            assert rows.position == 4_999

    asyncio.run(story())


def test_another_order_keeps_the_cursor_on_its_entry_and_its_line() -> None:
    async def story() -> None:
        async with only(Rows) as (rows, pilot):
            entries = [_Entry(number) for number in range(100)]
            rows.fill(entries)
            for _ in range(30):
                rows.action_move(1)
            await pilot.pause()
            line = rows.position * 2 - rows.scroll_offset.y
            rows.fill(list(reversed(entries)))
            await pilot.pause()
            assert rows.chosen is not None
            assert rows.chosen.key == 30
            assert rows.position * 2 - rows.scroll_offset.y == line
            # Another question has another best answer.
            rows.fill(list(reversed(entries)), keep=False)
            assert rows.position == 0

    asyncio.run(story())


def test_what_is_still_being_broken_is_not_drawn_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of the old lines say nothing about the new ones."""
    gate = threading.Event()
    made = page_module.rows_of

    def slow(lines: Sequence[Line], columns: int) -> list[ScreenRow]:
        if len(lines) > 1_000:
            gate.wait(30)
        return made(lines, columns)

    monkeypatch.setattr(page_module, "rows_of", slow)

    async def story() -> None:
        async with only(Page) as (page, pilot):
            page.fill([Line(f"old {number}") for number in range(200)], top=150)
            page.fill([Line("new ") for _ in range(2_000)])
            page.refresh()
            await pilot.pause()
            page.action_next_match(1)
            assert page.render_line(0).text.startswith("old 150")
            # And fewer of them.
            page.fill([Line("few")])
            await pilot.pause()
            assert page.render_line(0).text.startswith("few")
            gate.set()

    asyncio.run(story())


def test_matches_are_gone_through_from_where_one_is() -> None:
    async def story() -> None:
        async with only(Page) as (page, pilot):

            async def pressed(*keys: str) -> int:
                await pilot.press(*keys)
                await pilot.pause()
                while len(page.workers):
                    await pilot.pause(0.01)
                return page.scroll_offset.y

            page.focus()
            lines = ["a match" if number in (3, 10, 60) else "" for number in range(100)]
            page.fill([Line("nothing in it")], highlight=_whole_of)
            await pressed("n")
            # Another text has other matches, however short ago there was none.
            page.fill([Line(text) for text in lines], highlight=_whole_of)
            assert await pressed("n") == 3
            assert await pressed("n") == 10
            # Who goes elsewhere goes on from there.
            assert await pressed("g", "n") == 3
            assert await pressed("n", "n") == 60
            assert await pressed("N") == 10

    asyncio.run(story())


def _whole_of(text: str) -> list[tuple[int, int]]:
    return [(0, len(text))] if text == "a match" else []
