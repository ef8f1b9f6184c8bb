"""`App.setup`: hooks, MCP registration, schedules, checks and the demo."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.stores import AgentStores
from prong.plugins import Registry

if TYPE_CHECKING:
    from prong.code.service import CodeService
    from prong.model.findings import Finding
    from prong.session.service import SessionService
    from prong.setup import demo
    from prong.setup.doctor import InstallationDoctor, Report
    from prong.setup.hooks import HookSetup
    from prong.setup.mcp import McpSetup
    from prong.setup.schedule import ScheduleSetup
    from prong.storage.forks import Health
    from prong.storage.workers import WorkerRecords


class SetupService:
    def __init__(
        self,
        *,
        sessions: Callable[[], SessionService],
        stores: AgentStores,
        registry: Registry,
        code: Callable[[], CodeService],
        workers: Callable[[], WorkerRecords],
        health: Callable[[], Health | None],
        state: Path,
    ) -> None:
        """Keep backups of the settings that are changed below `state`.

        `health` tells whether forks are recorded, and how state.db is. Only checks and repairs open
        other services.
        """
        self._sessions = sessions
        self._stores = stores
        self._registry = registry
        self._code = code
        self._workers = workers
        self._health = health
        self._state = state

    @cached_property
    def hooks(self) -> HookSetup:
        """Hooks in the settings of agents."""
        from prong.setup.hooks import HookSetup

        return HookSetup(self._stores, self._state / "hooks")

    @cached_property
    def mcp(self) -> McpSetup:
        """Prong's MCP server in the settings of agents."""
        from prong.setup.mcp import McpSetup

        return McpSetup(self._stores)

    @cached_property
    def schedule(self) -> ScheduleSetup:
        """Scheduled updates of the index and of exports."""
        from prong.setup.schedule import ScheduleSetup

        return ScheduleSetup(self._stores, self._state / "schedule")

    def doctor(self) -> Report:
        """Check the installation and suggest fixes."""
        return self._doctor.examine()

    def fix(self) -> list[Finding]:
        """Clean up after interrupted forks and repair the records; return what was done."""
        return [*self._doctor.fix()]

    @cached_property
    def _doctor(self) -> InstallationDoctor:
        from prong.setup.doctor import InstallationDoctor
        from prong.setup.doctor_code import CodeDoctor

        is_recording = self._health() is not None
        return InstallationDoctor(
            sessions=self._sessions(),
            stores=self._stores,
            registry=self._registry,
            code=CodeDoctor(self._code(), self._sessions(), self._state, is_recording=is_recording),
            hooks=self.hooks,
            mcp=self.mcp,
            workers=lambda: self._workers().all(),
            health=self._health,
            state=self._state,
        )

    def rebuild(self) -> dict[str, int]:
        """Record what other sources than state.db still know; return how many records."""
        from prong.setup.rebuild import RecordRebuilder

        worktrees = self._code().worktrees.root
        rebuilder = RecordRebuilder(
            self._sessions(), self._stores, self._workers(), self._state, worktrees
        )
        return rebuilder.rebuild()

    def demo(self, home: Path) -> demo.Demo:
        """Write sample sessions into an empty folder."""
        from prong.setup import demo

        return demo.write(self._registry, home)
