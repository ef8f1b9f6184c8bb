"""Worker events, sent to all listeners."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from prong.views import json

Event = dict[str, Any]

_MAX_BEHIND = 1000
"""Maximum number of events waiting for a slow listener; beyond it, its stream ends."""


class Listener:
    """Queue of all events since its creation, in order. Belongs to one event loop."""

    def __init__(self, after: int) -> None:
        self.after = after
        """Number of the last event before its creation."""
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()

    def tell(self, event: Event | None) -> None:
        """Add an event from any thread, without waiting; None ends the stream."""
        self._loop.call_soon_threadsafe(self._events.put_nowait, event)

    async def next(self, seconds: float) -> Event | None:
        """Wait for an event. Returns None on timeout; raises `EOFError` at the end."""
        try:
            event = await asyncio.wait_for(self._events.get(), seconds)
        except TimeoutError:
            return None
        if event is None or self._events.qsize() > _MAX_BEHIND:
            raise EOFError
        return event


class Events:
    """Sender of numbered events; the numbers show listeners that they missed none."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._listeners: set[Listener] = set()
        self._number = 0
        self._closed = False

    def tell(self, event: str, **fields: Any) -> None:
        """Send an event to all listeners without waiting for them."""
        with self._lock:
            self._number += 1
            now = json.time(datetime.now(UTC))
            for listener in self._listeners:
                listener.tell({"event": event, "number": self._number, "time": now, **fields})

    @contextmanager
    def listening(self) -> Generator[Listener]:
        with self._lock:
            listener = Listener(self._number)
            if self._closed:
                listener.tell(None)
            else:
                self._listeners.add(listener)
        try:
            yield listener
        finally:
            with self._lock:
                self._listeners.discard(listener)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for listener in self._listeners:
                listener.tell(None)
            self._listeners.clear()
