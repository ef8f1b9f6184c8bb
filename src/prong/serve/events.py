"""What happens to workers, told to everybody who listens."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from queue import Empty, Full, Queue
from threading import Lock
from typing import Any

from prong.app import views

Event = dict[str, Any]

_BEHIND = 1000
"""So many events may wait for a listener; one that is slower than that is let go."""


class Listener:
    """One who hears every event, in order, from the moment on in which it began to listen."""

    def __init__(self, after: int) -> None:
        self.after = after
        """The number of the last event that it did not hear."""
        self._waiting: Queue[Event | None] = Queue(_BEHIND)
        self._over = False

    def hear(self, event: Event) -> bool:
        """False when it is too far behind to hear any more."""
        try:
            self._waiting.put_nowait(event)
        except Full:
            self._over = True
        return not self._over

    def end(self) -> None:
        """Nothing more will come."""
        self._over = True
        with suppress(Full):  # then it does not wait
            self._waiting.put_nowait(None)

    def next(self, timeout: float) -> Event | None:
        """The next event; None when there is none in that time. Raises `EOFError` at the end."""
        try:
            event = self._waiting.get(timeout=0 if self._over else timeout)
        except Empty:
            event = None
        if event is None and self._over:
            raise EOFError
        return event


class Events:
    """Where events come together. Each has a number: a listener sees that it missed none."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._listeners: set[Listener] = set()
        self._number = 0
        self._closed = False

    def tell(self, event: str, **fields: Any) -> None:
        """Never waits for anybody."""
        with self._lock:
            self._number += 1
            now = views.time(datetime.now(UTC))
            told = {"event": event, "number": self._number, "time": now, **fields}
            deaf = {one for one in self._listeners if not one.hear(told)}
            self._listeners -= deaf

    @contextmanager
    def listening(self) -> Generator[Listener]:
        with self._lock:
            listener = Listener(self._number)
            self._listeners.add(listener)
            if self._closed:
                listener.end()
        try:
            yield listener
        finally:
            with self._lock:
                self._listeners.discard(listener)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for listener in self._listeners:
                listener.end()
