"""`App.forks`: plan, create and record forks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.base import ForkSource, ScanCache
from prong.agents.stores import AgentStores
from prong.config import Config
from prong.errors import ProngError
from prong.forks.readings import Readings
from prong.forks.request import ForkRequest
from prong.model.forks import Fork, ForkPlan
from prong.model.record import replace
from prong.model.sessions import Program, Session
from prong.model.workers import WorkerInfo
from prong.processes.garbage import no_collections
from prong.session.service import SessionService

if TYPE_CHECKING:
    from prong.code.service import CodeService
    from prong.forks.make import ForkMaker
    from prong.forks.plan import ForkPlanner
    from prong.forks.workspace import Workspaces
    from prong.storage.forks import ForkRecords, Health


class ForkService:
    def __init__(  # noqa: PLR0913 -- all but the first two by name
        self,
        sessions: SessionService,
        code: Callable[[], CodeService],
        *,
        stores: AgentStores,
        cache: ScanCache,
        settings: Config,
        records: ForkRecords | None,
        workers: Callable[[], Iterable[WorkerInfo]],
        require: Callable[[Program], None],
        worktrees: Path,
        journal: Path,
    ) -> None:
        """Record forks in `records`, if any; `workers` returns the recorded workers.

        `require` raises when a program is missing. Worktrees are created below `worktrees`, and
        unfinished forks have a journal in the folder `journal`.
        """
        self._sessions = sessions
        self._code = code
        self._stores = stores
        self._settings = settings
        self._records = records
        self._workers = workers
        self._require = require
        self._worktrees = worktrees
        self._journal = journal
        self._readings = Readings(stores, cache)

    def close(self) -> None:
        self._readings.close()

    # Read by commands that fork nothing, such as `prong tree`: the rest is imported when used.

    @cached_property
    def workspaces(self) -> Workspaces:
        """Plans and creates the workspaces of forks."""
        from prong.forks.workspace import Workspaces

        return Workspaces(
            self._code(), self._sessions, self._workers, self._settings, self._worktrees
        )

    @cached_property
    def planner(self) -> ForkPlanner:
        """Plans forks, and changes plans."""
        from prong.forks.plan import ForkPlanner

        return ForkPlanner(
            self._sessions,
            self._stores,
            self._readings,
            self.workspaces,
            self._workers,
            self._require,
        )

    @cached_property
    def _maker(self) -> ForkMaker:
        from prong.forks.make import ForkMaker

        return ForkMaker(
            self.planner,
            self.workspaces,
            self._stores,
            self._readings,
            self._sessions.path_of,
            self.record,
            self._journal,
        )

    @no_collections()
    def plan(self, point: str, request: ForkRequest | None = None) -> ForkPlan:
        """Plan a fork at `SESSION[@TURN]`. Writes only caches."""
        return self.planner.plan(point, request or ForkRequest())

    @no_collections()
    def make(self, plan: ForkPlan, check: Callable[[], None] = lambda: None) -> Fork:
        """Create a planned fork completely, or nothing.

        `check` may still refuse: it runs when the copy is written, before it becomes visible.
        """
        return self._maker.fork(plan, check)

    def make_several(self, plan: ForkPlan, count: int = 1) -> Iterator[Fork]:
        """Create several forks of one point, yielding each when it exists."""
        return self._maker.several(plan, count)

    def source(self, session: Session) -> ForkSource:
        """Read a session for a fork. It stays open until another one is read."""
        return self._readings.of(session)

    # -- records -----------------------------------------------------------------------------

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
                self._records.restore(lineage.rebuild(self._sessions.all()))
            self._records.add(fork)
        except ProngError as error:
            warning = f"the fork was not recorded: {error.message}"
            return replace(fork, warnings=(*fork.warnings, warning))
        return fork

    def health(self) -> Health | None:
        """Check the health of the fork records; None when nothing is recorded."""
        return self._records.health() if self._records else None
