"""Where calls are done: on threads, so that one that takes long keeps no other waiting.

`App` is for one thread. Searches are done one after the other on a thread of their own, which keeps
the index and the sentence model open. All else opens an application of its own for the call.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from prong.app import App

T = TypeVar("T")

_AT_ONCE = 16
"""So many calls; more wait for one of these."""
_TOLD_EVERY = 0.5
"""Seconds."""
_REST_EVERY = 60.0
"""So often it is looked whether the sentence model is still needed."""


class CanTell(Protocol):
    """A client that wants to know how far a call is."""

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None: ...


class Progress:
    """What a client is told while it waits. The number is that of seconds: it always grows."""

    def __init__(self, client: CanTell) -> None:
        self._client = client
        self._begun = time.monotonic()
        self._message: str | None = None
        self._told: str | None = None

    def say(self, message: str) -> None:
        """From any thread; what is said in between is left out."""
        self._message = message

    async def during(self, work: Awaitable[T]) -> T:
        """Do it, and tell the client meanwhile."""
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({task}, timeout=_TOLD_EVERY))[0]:
                await self._tell()
            return task.result()
        finally:
            task.cancel()  # of a call that the client gave up

    async def _tell(self) -> None:
        if self._message != self._told:
            self._told = self._message
            seconds = round(time.monotonic() - self._begun, 1)
            await self._client.report_progress(seconds, None, self._message)


class Desk:
    def __init__(self, opened: Callable[[], App] = App) -> None:
        """`opened` makes an application for one thread. Nothing is opened before the first call."""
        self._opened = opened
        self._searches = ThreadPoolExecutor(1, "search")
        self._calls = ThreadPoolExecutor(_AT_ONCE, "call")
        self._app: App | None = None

    async def search(self, act: Callable[[App], T]) -> T:
        """With the application that keeps the index open, when the search before is done."""
        return await asyncio.get_running_loop().run_in_executor(
            self._searches, lambda: act(self._kept())
        )

    async def call(self, act: Callable[[App], T]) -> T:
        """With an application of its own, beside other calls."""

        def acted() -> T:
            with self._opened() as app:
                return act(app)

        return await asyncio.get_running_loop().run_in_executor(self._calls, acted)

    async def rest(self) -> None:
        """Give the memory of the sentence model back when nobody has searched for a while."""
        while True:
            await asyncio.sleep(_REST_EVERY)
            if self._app is not None:
                await self.search(lambda app: app.rest())

    def close(self) -> None:
        """Take no more calls. What is being made is finished."""
        self._searches.submit(self._closed)
        self._searches.shutdown(wait=False)
        self._calls.shutdown(wait=False, cancel_futures=True)

    def _kept(self) -> App:
        # Only the thread of the searches comes here.
        if self._app is None:
            self._app = self._opened()
        return self._app

    def _closed(self) -> None:
        if self._app is not None:
            self._app.close()
            self._app = None
