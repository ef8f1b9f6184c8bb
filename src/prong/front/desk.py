"""Where calls are done: on threads, so that one that takes long keeps no other waiting.

`App` is for one thread. Searches are done one after the other on a thread of their own, which keeps
the index and the sentence model open. All else opens an application of its own for the call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from prong.app import App
from prong.errors import memory_checked
from prong.front.lane import Lane

T = TypeVar("T")

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
