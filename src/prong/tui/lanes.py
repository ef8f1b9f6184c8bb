"""Worker threads, so that the event loop only draws and handles keys."""

from collections.abc import Callable
from weakref import WeakSet

from prong.app import App
from prong.threads import Lane


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
