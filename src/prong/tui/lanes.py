"""Keeping the event loop free to draw: worker threads, and garbage collection in small steps."""

import gc
from collections.abc import Callable
from weakref import WeakSet

from prong.app import App
from prong.threads import Lane

_OBJECTS = 2_000
_YOUNG = 10
_OLD = 10_000
"""Number of collections of one generation before one of the next."""


class Lanes:
    """Set of threads, each with its own `App`, so that slow work does not delay fast work."""

    def __init__(self, opened: Callable[[], App] = App) -> None:
        self._opened = opened
        self.words = Lane("words", opened, finishes=False)
        """Searches while typing, and session lists."""
        self.meaning = Lane("meaning", opened, finishes=False)
        """Searches with the sentence model."""
        self.reading = Lane("reading", opened, finishes=False)
        """Reading sessions for previews."""
        self.forking = Lane("forking", opened)
        """Fork plans and forks."""
        self.workers = Lane("workers", opened, finishes=False)
        """Polling worker statuses."""
        self._finishing: WeakSet[Lane] = WeakSet()
        """Additional lanes whose work must finish before exit."""

    def aside(self, name: str, *, finishes: bool = True) -> Lane:
        """Open another lane for slow work, such as a wait. The caller closes it."""
        lane = Lane(name, self._opened, finishes=finishes)
        if finishes:
            self._finishing.add(lane)
        return lane

    def close(self) -> None:
        """Stop accepting work. First finish or roll back forks in progress."""
        for lane in (self.words, self.meaning, self.reading, self.workers):
            lane.close()
        for lane in (self.forking, *self._finishing):
            lane.close(wait=True)


def settle() -> None:
    """Freeze all objects loaded so far, and collect new ones in small steps.

    A full collection took up to 90 ms, mostly for modules, and delayed keys. Garbage is nearly
    always young, so old objects are rarely examined, and young ones in small portions: with a
    threshold of 10,000 objects, one key in twenty waited 10 ms or more.
    """
    gc.freeze()
    gc.set_threshold(_OBJECTS, _YOUNG, _OLD)
