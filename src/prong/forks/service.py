"""`App.forks`: plan, create and record forks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.base import ForkSource
from prong.errors import ProngError
from prong.forks.readings import Readings
from prong.model.forks import Fork, ForkPlan, WorktreePlan
from prong.model.record import replace
from prong.model.sessions import Session
from prong.model.workers import WorkerInfo
from prong.processes.garbage import no_collections

if TYPE_CHECKING:
    from prong.app import App
    from prong.forks.plan import ForkOptions
    from prong.forks.workspace import Making
    from prong.forks.workspace_names import WorkspaceNames
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
    def make(self, plan: ForkPlan, check: Callable[[], None] = lambda: None) -> Fork:
        """Create a planned fork.

        `check` may still refuse: it runs when the copy is written, before it becomes visible.
        """
        from prong.forks import make

        return make.fork(self._app, plan, check)

    # -- what workers need -------------------------------------------------------------------

    def require_program(self, plan: ForkPlan) -> None:
        """Raise `Unavailable` if the agent's program, needed to run the fork, is missing."""
        from prong.forks import plan as planning

        planning.require_program(self._app, plan)

    def asking(self, plan: ForkPlan, prompt: str | None) -> ForkPlan:
        """Replace the first prompt of a plan."""
        from prong.forks import plan as planning

        return planning.asking(self._app, plan, prompt)

    def again(self, plan: ForkPlan, number: int) -> ForkPlan:
        """Plan another fork of the same turn, with its own id, title and worktree."""
        from prong.forks import plan as planning

        return planning.again(self._app, plan, number)

    def moved(self, plan: ForkPlan, worktree: WorktreePlan) -> ForkPlan:
        """Move a plan to the worktree of another project."""
        from prong.forks import plan as planning

        return planning.moved(self._app, plan, worktree)

    def worker_of(self, session: Session) -> WorkerInfo | None:
        """Find the most recently started worker that has, or had, the session open."""
        from prong.forks import plan as planning

        return planning.worker_of(self._app, session)

    def workspace_names(self, repo: Path) -> WorkspaceNames:
        """Return the names of worktrees and branches of a repository, taken or free."""
        from prong.forks.workspace_names import WorkspaceNames

        return WorkspaceNames(self._app, repo)

    def settled_worktree(self, plan: WorktreePlan) -> WorktreePlan:
        """Return the plan, with new names if they were taken meanwhile."""
        from prong.forks import workspace

        return workspace.settled(self._app, plan)

    def worktree_of(self, fork: Fork) -> Path | None:
        """Return the worktree that was created for a fork."""
        from prong.code.worktrees import worktree as worktrees

        if fork.branch is None or fork.workspace is None:
            return None
        paths = [item.path for item in worktrees.listed(self._app.worktrees_root)]
        return next((path for path in paths if fork.workspace.is_relative_to(path)), None)

    def worktree_made(self, plan: WorktreePlan) -> AbstractContextManager[Making]:
        """Create a planned worktree for what is created inside the `with` block."""
        from prong.forks import workspace

        return workspace.made(self._app, plan)

    # -- several forks -----------------------------------------------------------------------

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
