"""`prong.Worker` for `await`: the same names, each call in a thread of its own.

    worker = await aio.Worker.create("parser", prompt="Write the parser.")
    first, second = await asyncio.gather(worker.fork(), worker.fork())
    print(await first.send("Now the tests."), await worker.state)

A call that is cancelled leaves nothing behind: waiting ends, the agent goes on with its turn, and a
worker that was just being made is stopped again.
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
from prong.api.worker import READY_TIMEOUT, RESPONSE_TIMEOUT, Steps, WorkerArguments, WorkerFacts
from prong.errors import External
from prong.model.workers import WorkerState

if TYPE_CHECKING:
    from prong.workers.launch.plan import WorkerPlan

__all__ = ["Worker"]

T = TypeVar("T")


class Worker:
    """A worker by its name: `await Worker.create(...)` or `await Worker.open(...)`."""

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
        """Start one, and wait until its session is open."""
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
        """What `create` with the same arguments would start. Writes nothing."""
        return await asyncio.to_thread(partial(sync.Worker.plan, name, **arguments))

    @classmethod
    async def open(cls, name: str, *, response_timeout: float = RESPONSE_TIMEOUT) -> Self:
        """One that was started before, by whomever."""
        return cls(
            await asyncio.to_thread(sync.Worker.open, name, response_timeout=response_timeout)
        )

    @classmethod
    async def list(cls) -> Sequence[Self]:
        """All that are recorded, the oldest first; also those that are gone."""
        return [cls(one) for one in await asyncio.to_thread(sync.Worker.list)]

    @property
    def name(self) -> str:
        return self._worker.name

    def __repr__(self) -> str:
        return f"aio.{self._worker!r}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leaving the block stops it, whatever it does."""
        await self.stop(force=True)

    @property
    def state(self) -> Awaitable[WorkerState]:
        """What it does now: `await worker.state`."""
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
        """Give it a prompt, and return the answer to this prompt when its turn is over."""
        return await _stepwise(self._worker.sending(text, timeout, as_command=as_command))

    async def wait_idle(self, timeout: float = inf) -> None:  # noqa: ASYNC109
        """Return when it is idle."""
        await _stepwise(self._worker.waiting_idle(timeout))

    async def fork(
        self,
        name: str | None = None,
        *,
        prompt: str | None = None,
        turn: int | str | None = None,
    ) -> Self:
        """A new worker with this one's conversation so far, or up to a turn."""
        return type(self)(await _made(partial(self._worker.fork, name, prompt=prompt, turn=turn)))

    async def clone(self, name: str | None = None, *, timeout: float = inf) -> Self:  # noqa: ASYNC109
        """A new worker with a copy of the session and of the whole workspace."""
        if await self.state is WorkerState.BUSY:
            # That can be cancelled at any time; making the copy takes a moment.
            with suppress(External):  # one that ended can be copied as well
                await self.wait_idle(timeout)
        return type(self)(await _made(partial(self._worker.clone, name, timeout=timeout)))

    async def interrupt(self, *, timeout: float = READY_TIMEOUT) -> None:  # noqa: ASYNC109
        """End its turn, and return when it takes prompts again."""
        await _stepwise(self._worker.interrupting(timeout))

    async def restart(self) -> Self:
        """Open its session again after it ended."""
        await asyncio.to_thread(self._worker.restart)
        return self

    async def stop(self, *, force: bool = False) -> None:
        """End it."""
        await asyncio.to_thread(self._worker.stop, force=force)


async def _stepwise(steps: Steps[T]) -> T:
    """Each piece in a thread; whoever is cancelled waits for no more than one of them."""
    while True:
        done, result = await asyncio.to_thread(_step, steps)
        if done:
            assert result
            return result[0]


def _step(steps: Steps[T]) -> tuple[bool, tuple[T, ...]]:
    """True with the result when that was the last piece. `StopIteration` gets out of no thread."""
    try:
        next(steps)
    except StopIteration as end:
        return True, (end.value,)
    return False, ()


async def _made(make: Callable[[], sync.Worker]) -> sync.Worker:
    """A new worker. When nobody wants it any more, it is stopped as soon as it is there."""
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
            there = list(made)
        for worker in there:  # it was there just before
            asyncio.get_running_loop().run_in_executor(None, partial(worker.stop, force=True))
        raise
