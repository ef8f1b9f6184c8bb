"""Asyncio version of `prong.Worker`: same names, each call runs in a thread.

    worker = await aio.Worker.create("parser", prompt="Write the parser.")
    first, second = await asyncio.gather(worker.fork(), worker.fork())
    print(await first.send("Now the tests."), await worker.state)

Cancelling a call leaves nothing behind: a wait ends while the agent continues its turn, and a
worker that was being created is stopped.
"""

# Functions make the methods of the class, so they use what is private to it.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial, wraps
from threading import Lock
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar, Unpack

from prong.api import worker as sync
from prong.api.requests import WorkerArguments
from prong.api.worker import READY_TIMEOUT, RESPONSE_TIMEOUT

if TYPE_CHECKING:
    from prong.model.workers import WorkerState
    from prong.workers.request import WorkerPlan

__all__ = ["Worker"]

P = ParamSpec("P")
T = TypeVar("T")


class _Cancelled(Exception):
    """Ends a wait whose caller was cancelled."""


async def _in_thread(
    work: Callable[[Callable[[], None]], T], undo: Callable[[T], None] = lambda _: None
) -> T:
    """Run blocking work; when cancelled, end its waits and undo what it makes.

    The work gets a function that raises once the caller was cancelled.
    """
    lock = Lock()
    made: list[T] = []
    is_cancelled = False

    def check() -> None:
        if is_cancelled:
            raise _Cancelled

    def run() -> T:
        result = work(check)
        with lock:
            made.append(result)
            is_unwanted = is_cancelled
        if is_unwanted:
            undo(result)
        return result

    try:
        return await asyncio.to_thread(run)
    except asyncio.CancelledError:
        with lock:
            is_cancelled = True
            unwanted = list(made)
        for result in unwanted:  # it was made just before
            asyncio.get_running_loop().run_in_executor(None, undo, result)
        raise


def _stop(worker: sync.Worker) -> None:
    worker.stop(force=True)


def _awaited(
    method: Callable[Concatenate[sync.Worker, P], T],
) -> Callable[Concatenate[AsyncWorker, P], Awaitable[T]]:
    """Make a method of `prong.Worker` awaitable."""

    @wraps(method)
    async def run(self: AsyncWorker, *args: P.args, **kwargs: P.kwargs) -> T:
        return await _in_thread(lambda check: method(self._checked(check), *args, **kwargs))

    return run


def _made(
    method: Callable[Concatenate[sync.Worker, P], sync.Worker],
) -> Callable[Concatenate[AsyncWorker, P], Awaitable[AsyncWorker]]:
    """Make a method awaitable that starts another worker."""

    @wraps(method)
    async def run(self: AsyncWorker, *args: P.args, **kwargs: P.kwargs) -> AsyncWorker:
        return AsyncWorker(
            await _in_thread(lambda check: method(self._checked(check), *args, **kwargs), _stop)
        )

    return run


class AsyncWorker:
    """Handle to a worker: `await Worker.create(...)` or `await Worker.open(...)`."""

    def __init__(self, worker: sync.Worker) -> None:
        self._worker = worker

    def _checked(self, check: Callable[[], None]) -> sync.Worker:
        timeout = self._worker.response_timeout
        return sync.Worker(self.name, response_timeout=timeout, check=check)

    @classmethod
    async def create(
        cls,
        name: str | None = None,
        *,
        ready_timeout: float = READY_TIMEOUT,
        response_timeout: float = RESPONSE_TIMEOUT,
        **arguments: Unpack[WorkerArguments],
    ) -> Self:
        """Start a worker and wait until its session is open."""
        create = partial(
            sync.Worker.create,
            name,
            ready_timeout=ready_timeout,
            response_timeout=response_timeout,
            **arguments,
        )
        return cls(await _in_thread(lambda _: create(), _stop))

    @classmethod
    async def plan(
        cls, name: str | None = None, **arguments: Unpack[WorkerArguments]
    ) -> WorkerPlan:
        """Return what `create` would start with the same arguments. Writes nothing."""
        return await asyncio.to_thread(partial(sync.Worker.plan, name, **arguments))

    @classmethod
    async def open(cls, name: str, *, response_timeout: float = RESPONSE_TIMEOUT) -> Self:
        """Open an existing worker, whoever started it."""
        return cls(
            await asyncio.to_thread(sync.Worker.open, name, response_timeout=response_timeout)
        )

    @classmethod
    async def list(cls) -> Sequence[Self]:
        """List all recorded workers, oldest first, including those that are gone."""
        return [cls(worker) for worker in await asyncio.to_thread(sync.Worker.list)]

    @property
    def name(self) -> str:
        return self._worker.name

    def __repr__(self) -> str:
        return f"aio.{self._worker!r}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop the worker, even if it is busy."""
        await self.stop(force=True)

    @property
    def state(self) -> Awaitable[WorkerState]:
        """Current state: `await worker.state`."""
        return asyncio.to_thread(lambda: self._worker.state)

    info = _awaited(sync.Worker.info)
    send = _awaited(sync.Worker.send)
    wait_idle = _awaited(sync.Worker.wait_idle)
    interrupt = _awaited(sync.Worker.interrupt)
    stop = _awaited(sync.Worker.stop)
    fork = _made(sync.Worker.fork)
    clone = _made(sync.Worker.clone)

    async def restart(self) -> Self:
        """Reopen the session after the worker ended."""
        await asyncio.to_thread(self._worker.restart)
        return self


Worker = AsyncWorker
