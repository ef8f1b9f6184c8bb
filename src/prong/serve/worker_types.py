"""Worker types from plug-ins of the group `prong.workers`.

A plug-in is a factory: called with a name and the client's parameters, it returns an object. The
object needs only what clients use: `send(text)`, `fork(new_name)`, `stop()` and `state`, each of
which may be a coroutine. Objects live as long as the daemon.
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
    """A plug-in's worker object, under its name."""

    name: str
    type: str
    object: Any
    forked_from: str | None = None


class PlugInWorkers:
    """Registry of plug-in workers. A name is reserved while its worker is being created."""

    def __init__(self, others: Callable[[], Collection[str]] = tuple) -> None:
        """`others` returns the names of prong's own workers."""
        self._others = others
        self._lock = Lock()
        self._workers: dict[str, PlugInWorker] = {}
        self._reserved: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def all(self) -> list[PlugInWorker]:
        with self._lock:
            return list(self._workers.values())

    def names(self) -> set[str]:
        """Return names in use, including those of workers being created."""
        with self._lock:
            return {*self._workers, *self._reserved}

    def get(self, name: str) -> PlugInWorker | None:
        with self._lock:
            return self._workers.get(name)

    def create(
        self, type_: str, name: str, factory: Callable[..., Any], parameters: dict[str, Any]
    ) -> PlugInWorker:
        """Create a worker. Raises `Taken` if the name is in use."""
        with self._reserving(name):
            created = self._finished(factory(name, **parameters))
            return self._kept(PlugInWorker(name, type_, created))

    def fork(self, name: str, new: str) -> PlugInWorker:
        """Fork a worker. Only `NotImplementedError` means that it cannot be forked."""
        source = self._named(name)
        method = self._method(source, "fork", "be forked")
        with self._reserving(new):
            try:
                created = self._finished(method(new))
            except NotImplementedError as error:
                raise Unsupported(str(error) or f"{name} cannot be forked") from error
            return self._kept(PlugInWorker(new, source.type, created, name))

    def call(self, name: str, verb: str, *arguments: Any) -> Any:
        """Call another method of a worker."""
        return self._finished(self._method(self._named(name), verb, verb)(*arguments))

    def state(self, worker: PlugInWorker) -> str:
        """Return the state that the object reports, or `unknown`."""
        value = getattr(worker.object, "state", "unknown")
        return str(self._finished(value() if callable(value) else value))

    def forget(self, name: str) -> None:
        with self._lock:
            self._workers.pop(name, None)

    def close(self) -> None:
        """Stop the event loop but no workers: what they run may outlive the daemon."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)

    def _named(self, name: str) -> PlugInWorker:
        worker = self.get(name)
        if worker is None:
            raise NotFound(f"no worker named {name}", hint="prong ps")
        return worker

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
        """Return the value, awaited if needed. All coroutines share one loop, as objects expect."""
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
