"""`App.forks`: plan, create and record forks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from prong.agents.base import ForkSource
from prong.errors import ProngError
from prong.forks.readings import Readings
from prong.model.forks import Fork, ForkPlan
from prong.model.record import replace
from prong.model.sessions import Session
from prong.processes.garbage import no_collections

if TYPE_CHECKING:
    from prong.app import App
    from prong.forks.plan import ForkOptions
    from prong.storage.forks import ForkRecords, Health


class ForkService:
    def __init__(self, app: App) -> None:
        self._app = app
        self._readings = Readings()

    def close(self) -> None:
        self._readings.close()

    @cached_property
    def _records(self) -> ForkRecords | None:
        from prong.storage.forks import ForkRecords

        return ForkRecords(self._app.database) if self._app.remembers else None

    @no_collections()
    def plan(self, point: str, options: ForkOptions | None = None) -> ForkPlan:
        """Plan a fork at `SESSION[@TURN]`. Writes only caches."""
        from prong.forks import plan as planning
        from prong.forks.plan import ForkOptions

        return planning.plan(self._app, point, options or ForkOptions())

    @no_collections()
    def make(self, plan: ForkPlan) -> Fork:
        """Create a planned fork."""
        from prong.forks import make

        return make.fork(self._app, plan)

    def make_several(self, plan: ForkPlan, count: int = 1) -> Iterator[Fork]:
        """Create several forks of one point, yielding each when it exists."""
        from prong.forks import make

        return make.several(self._app, plan, count)

    def source(self, session: Session) -> ForkSource:
        """Read a session for a fork. It stays open until another one is read."""
        return self._readings.of(self._app.store(session.agent), session, self._app.cache)

    def is_current(self, source: ForkSource) -> bool:
        """Return whether the session is unchanged since it was read."""
        return self._readings.is_current(source)

    def recorded(self) -> list[Fork]:
        """List all recorded forks in order of creation."""
        return self._records.all() if self._records else []

    def record(self, fork: Fork) -> Fork:
        """Record a fork. A failure only adds a warning, since the fork exists."""
        from prong.session import lineage

        if self._records is None:
            return fork
        try:
            if not self._records.all():
                # The records are new or lost: restore what the session files tell.
                self._records.restore(lineage.rebuild(self._app.sessions.all()))
            self._records.add(fork)
        except ProngError as error:
            warning = f"the fork was not recorded: {error.message}"
            return replace(fork, warnings=(*fork.warnings, warning))
        return fork

    def health(self) -> Health | None:
        """Check the health of the fork records; None when nothing is recorded."""
        return self._records.health() if self._records else None
