"""Cache of the last session read, so that planning and forking read it once."""

import os

from prong.agents.base import ForkSource, ScanCache
from prong.agents.stores import AgentStores
from prong.model.sessions import Session
from prong.model.turn_text import Stamp


class Readings:
    """A cache that keeps one session open."""

    def __init__(self, stores: AgentStores, cache: ScanCache) -> None:
        self._stores = stores
        self._cache = cache
        self._last: tuple[Session, ForkSource, Stamp | None] | None = None

    def of(self, session: Session) -> ForkSource:
        """Read the session, or reuse the last reading if the file is unchanged."""
        # Taken before reading, so that lines added meanwhile show as a change.
        stamp = _stamp(session)
        if self._last and stamp and (session, stamp) == (self._last[0], self._last[2]):
            return self._last[1]
        self.close()
        source = self._stores.named(session.agent).source(session, self._cache)
        self._last = session, source, stamp
        return source

    def is_current(self, source: ForkSource) -> bool:
        """Return True if the file is unchanged since this reading began."""
        if self._last is None or self._last[1] is not source:
            return False
        session, _, stamp = self._last
        return stamp is not None and stamp == _stamp(session)

    def close(self) -> None:
        if self._last is not None:
            self._last[1].close()
            self._last = None


def _stamp(session: Session) -> Stamp | None:
    try:
        return Stamp.of(os.stat(session.file))  # noqa: PTH116 -- a file may be one of thousands
    except OSError:
        return None
