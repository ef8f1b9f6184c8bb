"""A thread with an application of its own: what it is given is done one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from prong.app import App
from prong.errors import memory_checked

T = TypeVar("T")

_Job = tuple[Future[Any], Callable[[App], Any]]


class Lane:
    """Keeps one application open; `App` is for one thread."""

    def __init__(
        self, name: str, opened: Callable[[], App] = App, *, finishes: bool = True
    ) -> None:
        """Nothing is opened before the first call.

        Without `finishes`, the program may end while something is being done that only reads.
        """
        self._opened = opened
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=name, daemon=not finishes)
        self._app: App | None = None

    @property
    def is_open(self) -> bool:
        return self._app is not None

    async def do(self, act: Callable[[App], T]) -> T:
        """When all that came before is done."""
        if self._thread.ident is None:
            self._thread.start()
        future: Future[T] = Future()
        self._jobs.put((future, act))
        return await asyncio.wrap_future(future)

    def close(self, *, wait: bool = False) -> None:
        """Take no more calls. What is being done, and what waits for it, is finished."""
        self._jobs.put(None)
        if wait and self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, act = job
            # Nobody may want it any more.
            if not future.set_running_or_notify_cancel():
                continue
            try:
                with memory_checked():
                    if self._app is None:
                        self._app = self._opened()
                    found = act(self._app)
                future.set_result(found)
                del found
            except BaseException as error:  # noqa: BLE001 -- told to whoever waits for it
                future.set_exception(error)
            # Neither the answer nor what it was made of is kept while nothing is to be done.
            del job, future, act
        if self._app is not None:
            self._app.close()
            self._app = None


class Newest:
    """Questions to a lane of which only the newest matters, as when somebody types."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._asked = 0
        self._turn = asyncio.Lock()

    async def ask(self, act: Callable[[App], T]) -> T | None:
        """The answer; None when another question has come meanwhile."""
        self._asked += 1
        mine = self._asked
        async with self._turn:
            if mine != self._asked:
                return None
            answer = await self._lane.do(act)
        return answer if mine == self._asked else None

    def drop(self) -> None:
        """Nobody wants the answer any more."""
        self._asked += 1


_AT_ONCE = 16
"""So many calls; more wait for one of these."""
_REST_EVERY = 60.0
"""So often it is looked whether the sentence model is still needed."""


class Desk:
    def __init__(self, opened: Callable[[], App] = App) -> None:
        """`opened` makes an application for one thread. Nothing is opened before the first call."""
        self._opened = opened
        self._searches = Lane("search", opened)
        self._calls = ThreadPoolExecutor(_AT_ONCE, "call")

    async def search(self, act: Callable[[App], T]) -> T:
        """With the application that keeps the index open, when the search before is done."""
        return await self._searches.do(act)

    async def call(self, act: Callable[[App], T]) -> T:
        """With an application of its own, beside other calls."""

        def acted() -> T:
            with memory_checked(), self._opened() as app:
                return act(app)

        return await asyncio.get_running_loop().run_in_executor(self._calls, acted)

    async def rest(self) -> None:
        """Give the memory of the sentence model back when nobody has searched for a while."""
        while True:
            await asyncio.sleep(_REST_EVERY)
            if self._searches.is_open:
                await self.search(lambda app: app.rest())

    def close(self) -> None:
        """Take no more calls. What is being made is finished."""
        self._searches.close()
        self._calls.shutdown(wait=False, cancel_futures=True)
