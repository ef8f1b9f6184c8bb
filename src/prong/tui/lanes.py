"""The threads that work is done on, so that the event loop only draws and listens."""

from collections.abc import Callable
from weakref import WeakSet

from prong.app import App
from prong.threads import Lane


class Lanes:
    """Each has an application of its own. What takes long is not in the way of what must not."""

    def __init__(self, opened: Callable[[], App] = App) -> None:
        self._opened = opened
        self.words = Lane("words", opened, finishes=False)
        """Searches while somebody types, and lists of sessions."""
        self.meaning = Lane("meaning", opened, finishes=False)
        """The same with the sentence model, a moment later."""
        self.reading = Lane("reading", opened, finishes=False)
        """Sessions, for previews."""
        self.forking = Lane("forking", opened)
        """Plans and forks."""
        self.workers = Lane("workers", opened, finishes=False)
        """What workers do."""
        self._finishing: WeakSet[Lane] = WeakSet()
        """Those beside them that make something."""

    def aside(self, name: str, *, finishes: bool = True) -> Lane:
        """Another one, for what may take long, such as a wait. Who asks for it closes it."""
        lane = Lane(name, self._opened, finishes=finishes)
        if finishes:
            self._finishing.add(lane)
        return lane

    def close(self) -> None:
        """Take no more work. A fork that is being made is finished, or taken back, first."""
        for lane in (self.words, self.meaning, self.reading, self.workers):
            lane.close()
        for lane in (self.forking, *self._finishing):
            lane.close(wait=True)
