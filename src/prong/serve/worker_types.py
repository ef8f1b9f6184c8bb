"""Workers of other kinds than an agent that prong starts: plug-ins of the group `prong.workers`.

A plug-in is a factory: called with a name and what the caller says besides, it gives an object. All
that is asked of the object is what somebody uses: `send(text)`, `fork(new_name)`, `stop()` and
`state`. Each of them may be a coroutine. The objects live as long as the daemon.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import contextmanager
from threading import Lock, Thread
from typing import Any

from prong.errors import NotFound, Taken, Unsupported
from prong.model.record import Record


class PlugInWorker(Record, frozen=True):
    """An object of a plug-in, under its name."""

    name: str
    type: str
    object: Any
    forked_from: str | None = None


class PlugInWorkers:
    """Those that are there. Names are theirs alone, also while one is being made."""

    def __init__(self, others: Callable[[], Collection[str]] = tuple) -> None:
        """`others` tells which names workers of prong's own have."""
        self._others = others
        self._lock = Lock()
        self._workers: dict[str, PlugInWorker] = {}
        self._reserved: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def all(self) -> list[PlugInWorker]:
        with self._lock:
            return list(self._workers.values())

    def names(self) -> set[str]:
        """Taken ones, with those of workers that are being made."""
        with self._lock:
            return {*self._workers, *self._reserved}

    def get(self, name: str) -> PlugInWorker | None:
        with self._lock:
            return self._workers.get(name)

    def create(
        self, type_: str, name: str, factory: Callable[..., Any], parameters: dict[str, Any]
    ) -> PlugInWorker:
        """Make one. Raises `Taken` when the name is in use."""
        with self._reserving(name):
            made = self._finished(factory(name, **parameters))
            return self._kept(PlugInWorker(name, type_, made))

    def fork(self, name: str, new: str) -> PlugInWorker:
        """Let one fork itself. What goes wrong in there is not said to be a lack of `fork`."""
        source = self._named(name)
        method = self._method(source, "fork", "be forked")
        with self._reserving(new):
            try:
                made = self._finished(method(new))
            except NotImplementedError as error:
                raise Unsupported(str(error) or f"{name} cannot be forked") from error
            return self._kept(PlugInWorker(new, source.type, made, name))

    def call(self, name: str, verb: str, *arguments: Any) -> Any:
        """Let one do something else that it can."""
        return self._finished(self._method(self._named(name), verb, verb)(*arguments))

    def state(self, worker: PlugInWorker) -> str:
        """As it says itself, if it does."""
        value = getattr(worker.object, "state", "unknown")
        return str(self._finished(value() if callable(value) else value))

    def forget(self, name: str) -> None:
        with self._lock:
            self._workers.pop(name, None)

    def close(self) -> None:
        """Let go of them. Nobody is stopped: they may have something that lives on."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _named(self, name: str) -> PlugInWorker:
        found = self.get(name)
        if found is None:
            raise NotFound(f"no worker named {name}", hint="prong ps")
        return found

    def _method(self, worker: PlugInWorker, name: str, doing: str) -> Callable[..., Any]:
        method = getattr(worker.object, name, None)
        if not callable(method):
            raise Unsupported(f"a worker of the type {worker.type} cannot {doing}")
        return method

    @contextmanager
    def _reserving(self, name: str) -> Generator[None]:
        others = self._others()
        with self._lock:
            if name in self._workers or name in self._reserved or name in others:
                raise Taken(f"a worker named {name} already exists", hint="another name")
            self._reserved.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._reserved.discard(name)

    def _kept(self, worker: PlugInWorker) -> PlugInWorker:
        with self._lock:
            self._workers[worker.name] = worker
        return worker

    def _finished(self, value: Any) -> Any:
        """The value, awaited if need be. All coroutines run in one loop: objects expect that."""
        if not inspect.isawaitable(value):
            return value
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                Thread(target=_run, args=(self._loop,), name="plug-ins", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(_awaited(value), self._loop).result()


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
