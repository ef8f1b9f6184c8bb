"""Cache of the last session read, so that planning and forking read it once."""

import os

from prong.agents.base import ForkSource, ScanCache
from prong.agents.stores import AgentStores
from prong.model.record import Record
from prong.model.sessions import Session

Signature = tuple[int, int, int]


class _Reading(Record):
    session: Session
    source: ForkSource
    signature: Signature | None


class Readings:
    """A cache that keeps one session open."""

    def __init__(self, stores: AgentStores, cache: ScanCache) -> None:
        self._stores = stores
        self._cache = cache
        self._last: _Reading | None = None

    def of(self, session: Session) -> ForkSource:
        """Read the session, or reuse the last reading if the file is unchanged."""
        last = self._last
        # Taken before reading, so that lines added meanwhile show as a change.
        signature = _signature(session)
        if last and last.session == session and signature and last.signature == signature:
            return last.source
        self.close()
        self._last = _Reading(
            session, self._stores.named(session.agent).source(session, self._cache), signature
        )
        return self._last.source

    def is_current(self, source: ForkSource) -> bool:
        """Return True if the file is unchanged since this reading began."""
        last = self._last
        if last is None or last.source is not source:
            return False
        return last.signature is not None and last.signature == _signature(last.session)

    def close(self) -> None:
        if self._last is not None:
            self._last.source.close()
            self._last = None


def _signature(session: Session) -> Signature | None:
    try:
        stat = os.stat(session.file)  # noqa: PTH116 -- a file may be one of thousands
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns, stat.st_ino
