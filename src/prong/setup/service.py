"""`App.setup`: hooks, MCP registration, schedules, checks and the demo."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.stores import AgentStores
from prong.model.record import Record
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


class SetupService(Record, frozen=True, kw_only=True, dict=True):
    """Only checks and repairs open other services."""

    sessions: Callable[[], SessionService]
    stores: AgentStores
    registry: Registry
    code: Callable[[], CodeService]
    workers: Callable[[], WorkerRecords]
    health: Callable[[], Health | None]
    """Whether forks are recorded, and how state.db is."""
    state: Path
    """Holds the backups of the settings that are changed."""

    @cached_property
    def hooks(self) -> HookSetup:
        """Hooks in the settings of agents."""
        from prong.setup.hooks import HookSetup

        return HookSetup(self.stores, self.state / "hooks")

    @cached_property
    def mcp(self) -> McpSetup:
        """Prong's MCP server in the settings of agents."""
        from prong.setup.mcp import McpSetup

        return McpSetup(self.stores)

    @cached_property
    def schedule(self) -> ScheduleSetup:
        """Scheduled updates of the index and of exports."""
        from prong.setup.schedule import ScheduleSetup

        return ScheduleSetup(self.stores, self.state / "schedule")

    def doctor(self) -> Report:
        """Check the installation and suggest fixes."""
        return self._doctor().examine()

    def fix(self) -> list[Finding]:
        """Clean up after interrupted forks and repair the records; return what was done."""
        return [*self._doctor().fix()]

    def _doctor(self) -> InstallationDoctor:
        from prong.setup.doctor import InstallationDoctor
        from prong.setup.doctor_code import CodeDoctor

        sessions, is_recording = self.sessions(), self.health() is not None
        return InstallationDoctor(
            sessions=sessions,
            stores=self.stores,
            registry=self.registry,
            code=CodeDoctor(self.code(), sessions, self.state, is_recording),
            hooks=self.hooks,
            mcp=self.mcp,
            workers=self.workers(),
            health=self.health,
            state=self.state,
        )

    def rebuild(self) -> dict[str, int]:
        """Record what other sources than state.db still know; return how many records."""
        from prong.setup.rebuild import RecordRebuilder

        worktrees = self.code().worktrees.root
        rebuilder = RecordRebuilder(
            self.sessions(), self.stores, self.workers(), self.state, worktrees
        )
        return rebuilder.rebuild()

    def demo(self, home: Path) -> demo.Demo:
        """Write sample sessions into an empty folder."""
        from prong.setup import demo

        return demo.write(self.registry, home)
