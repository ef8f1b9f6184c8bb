"""Asyncio version of `prong.Worker`: same names, each call runs in a thread.

    worker = await aio.Worker.create("parser", prompt="Write the parser.")
    first, second = await asyncio.gather(worker.fork(), worker.fork())
    print(await first.send("Now the tests."), await worker.state)

Cancelling a call leaves nothing behind: a wait ends while the agent continues its turn, and a
worker that was being created is stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from threading import Lock
from typing import TYPE_CHECKING, Self, TypeVar, Unpack

from prong.api import worker as sync
from prong.api.functions import WorkerForkArguments
from prong.api.worker import READY_TIMEOUT, RESPONSE_TIMEOUT, Steps, WorkerArguments, WorkerFacts
from prong.errors import External
from prong.model.workers import WorkerState

if TYPE_CHECKING:
    from prong.workers.request import WorkerPlan

__all__ = ["Worker"]

T = TypeVar("T")


class Worker:
    """Handle to a worker: `await Worker.create(...)` or `await Worker.open(...)`."""

    def __init__(self, worker: sync.Worker) -> None:
        self._worker = worker

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
        make = partial(
            sync.Worker.create,
            name,
            ready_timeout=ready_timeout,
            response_timeout=response_timeout,
            **arguments,
        )
        return cls(await _made(make))

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

    async def info(self) -> WorkerFacts:
        return await asyncio.to_thread(self._worker.info)

    async def send(
        self,
        text: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        as_command: bool = False,
    ) -> str:
        """Send a prompt and return the answer to it when its turn is over."""
        return await _stepwise(self._worker.sending(text, timeout, as_command=as_command))

    async def wait_idle(self, timeout: float = inf) -> None:  # noqa: ASYNC109
        """Wait until the worker is idle."""
        await _stepwise(self._worker.waiting_idle(timeout))

    async def fork(
        self,
        name: str | None = None,
        *,
        turn: int | str | None = None,
        **arguments: Unpack[WorkerForkArguments],
    ) -> Self:
        """Start a new worker with this conversation, whole or up to a turn."""
        return type(self)(await _made(partial(self._worker.fork, name, turn=turn, **arguments)))

    async def clone(self, name: str | None = None, *, timeout: float = inf) -> Self:  # noqa: ASYNC109
        """Start a new worker with a copy of the session and of the whole workspace."""
        if await self.state is WorkerState.BUSY:
            # Waiting can be cancelled at any time; making the copy takes only a moment.
            with suppress(External):  # a worker that ended can be cloned, too
                await self.wait_idle(timeout)
        return type(self)(await _made(partial(self._worker.clone, name, timeout=timeout)))

    async def interrupt(self, *, timeout: float = READY_TIMEOUT) -> None:  # noqa: ASYNC109
        """Interrupt the turn and wait until the worker takes prompts again."""
        await _stepwise(self._worker.interrupting(timeout))

    async def restart(self) -> Self:
        """Reopen the session after the worker ended."""
        await asyncio.to_thread(self._worker.restart)
        return self

    async def stop(self, *, force: bool = False) -> None:
        """Stop the worker."""
        await asyncio.to_thread(self._worker.stop, force=force)


async def _stepwise(steps: Steps[T]) -> T:
    """Run each step in a thread; cancellation waits for one step at most."""
    while True:
        done, result = await asyncio.to_thread(_step, steps)
        if done:
            assert result
            return result[0]


def _step(steps: Steps[T]) -> tuple[bool, tuple[T, ...]]:
    """Advance by one step; return True and the result after the last.

    `StopIteration` cannot leave a thread, hence the tuple.
    """
    try:
        next(steps)
    except StopIteration as end:
        return True, (end.value,)
    return False, ()


async def _made(make: Callable[[], sync.Worker]) -> sync.Worker:
    """Create a worker; when cancelled, stop it as soon as it exists."""
    lock = Lock()
    made: list[sync.Worker] = []
    unwanted = False

    def making() -> sync.Worker:
        worker = make()
        with lock:
            made.append(worker)
            stop = unwanted
        if stop:
            worker.stop(force=True)
        return worker

    try:
        return await asyncio.to_thread(making)
    except asyncio.CancelledError:
        with lock:
            unwanted = True
            created = list(made)
        for worker in created:  # it was created just before
            asyncio.get_running_loop().run_in_executor(None, partial(worker.stop, force=True))
        raise
