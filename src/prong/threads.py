"""Worker threads for `App`, which may be used by one thread only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from prong.app import App
from prong.errors import memory_checked

T = TypeVar("T")

_Job = tuple[Future[Any], Callable[[App], Any]]


class Lane:
    """Thread that keeps one `App` open and runs calls in order."""

    def __init__(
        self, name: str, opened: Callable[[], App] = App, *, finishes: bool = True
    ) -> None:
        """Open nothing before the first call.

        With `finishes=False`, the program may exit during a call that only reads.
        """
        self._opened = opened
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=name, daemon=not finishes)
        self._app: App | None = None

    @property
    def is_open(self) -> bool:
        return self._app is not None

    async def do(self, act: Callable[[App], T]) -> T:
        """Run a call after all earlier calls."""
        if self._thread.ident is None:
            self._thread.start()
        future: Future[T] = Future()
        self._jobs.put((future, act))
        return await asyncio.wrap_future(future)

    def close(self, *, wait: bool = False) -> None:
        """Accept no more calls; finish those already queued."""
        self._jobs.put(None)
        if wait and self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, act = job
            # The caller may have been cancelled while this waited.
            if not future.set_running_or_notify_cancel():
                continue
            try:
                with memory_checked():
                    if self._app is None:
                        self._app = self._opened()
                    result = act(self._app)
                future.set_result(result)
                del result
            except BaseException as error:  # noqa: BLE001 -- raised in the caller
                future.set_exception(error)
            # Keep neither the result nor its inputs in memory while idle.
            del job, future, act
        if self._app is not None:
            self._app.close()
            self._app = None


class Newest:
    """Calls to a `Lane` of which only the newest matters, as for search-as-you-type."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._asked = 0
        self._turn = asyncio.Lock()

    async def ask(self, act: Callable[[App], T]) -> T | None:
        """Return the answer, or None if a newer call came meanwhile."""
        self._asked += 1
        number = self._asked
        async with self._turn:
            if number != self._asked:
                return None
            answer = await self._lane.do(act)
        return answer if number == self._asked else None

    def drop(self) -> None:
        """Discard the answer of the pending call."""
        self._asked += 1


async def run_in_thread(function: Callable[[], T], *, daemon: bool = False) -> T:
    """Call a function in a thread of its own; the program ends without it if it is a daemon.

    `asyncio.to_thread` would not do: a call may wait for hours and would use up its pool.
    """
    result: Future[T] = Future()

    def run() -> None:
        if not result.set_running_or_notify_cancel():
            return
        try:
            with memory_checked():
                result.set_result(function())
        except BaseException as error:  # noqa: BLE001 -- raised in the caller
            result.set_exception(error)

    Thread(target=run, name="call", daemon=daemon).start()
    return await asyncio.wrap_future(result)
