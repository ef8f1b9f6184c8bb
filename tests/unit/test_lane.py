"""Threads with an application each, and questions of which only the newest matters."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from prong.app import App
from prong.threads import Lane, Newest


class Opened:
    """Stands for an application."""

    def __init__(self) -> None:
        self.thread = threading.current_thread()
        self.is_closed = False

    def close(self) -> None:
        assert threading.current_thread() is self.thread
        self.is_closed = True


def opened() -> App:
    return cast(App, Opened())


def run(story: Callable[[Lane], Awaitable[None]], **how: bool) -> None:
    lane = Lane("test", opened, **how)

    async def told() -> None:
        await story(lane)

    try:
        asyncio.run(told())
    finally:
        lane.close(wait=True)


def test_one_application_on_one_thread_until_it_is_closed() -> None:
    seen: list[Any] = []

    async def story(lane: Lane) -> None:
        assert not lane.is_open
        seen.extend([await lane.do(lambda app: app) for _ in range(3)])
        assert lane.is_open

    run(story)
    first, second, third = seen
    assert first is second is third
    assert first.thread is not threading.current_thread()
    assert first.is_closed


def test_what_goes_wrong_is_told_to_who_asked_and_ends_nothing() -> None:
    async def story(lane: Lane) -> None:
        def fails(_: App) -> None:
            raise KeyError("lost")

        with pytest.raises(KeyError, match="lost"):
            await lane.do(fails)
        assert await lane.do(lambda _: 1) == 1

    run(story)


def test_what_nobody_waits_for_any_more_is_not_begun() -> None:
    async def story(lane: Lane) -> None:
        gate = threading.Event()
        begun: list[int] = []
        first = asyncio.ensure_future(lane.do(lambda _: gate.wait(10)))
        second = asyncio.ensure_future(lane.do(lambda _: begun.append(2)))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.sleep(0)
        gate.set()
        assert await first
        await lane.do(lambda _: begun.append(3))
        assert begun == [3]

    run(story)


def test_only_the_newest_question_is_answered() -> None:
    async def story(lane: Lane) -> None:
        newest = Newest(lane)
        gate, begun = threading.Event(), threading.Event()
        asked: list[str] = []

        def ask(text: str) -> Callable[[App], str]:
            def act(_: App) -> str:
                asked.append(text)
                begun.set()
                gate.wait(10)
                return text

            return act

        questions = [asyncio.ensure_future(newest.ask(ask(text))) for text in ("r", "re", "red")]
        await asyncio.to_thread(begun.wait, 10)
        gate.set()
        assert await asyncio.gather(*questions) == [None, None, "red"]
        # The one in the middle was not even put.
        assert asked == ["r", "red"]

    run(story)


def test_an_answer_that_was_dropped_does_not_come() -> None:
    async def story(lane: Lane) -> None:
        newest = Newest(lane)
        question = asyncio.ensure_future(newest.ask(lambda _: 1))
        await asyncio.sleep(0)
        newest.drop()
        assert await question is None

    run(story)
