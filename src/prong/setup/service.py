"""`App.setup`: hooks, MCP registration, schedules, checks and the demo."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.stores import AgentStores

if TYPE_CHECKING:
    from prong.app import App
    from prong.setup import demo, doctor
    from prong.setup.hooks import HookSetup
    from prong.setup.mcp import McpSetup
    from prong.setup.schedule import ScheduleSetup


class SetupService:
    def __init__(self, app: App, stores: AgentStores, folder: Path) -> None:
        """Keep backups of the settings that are changed below `folder`."""
        self._app = app
        self._stores = stores
        self._folder = folder

    @cached_property
    def hooks(self) -> HookSetup:
        """Hooks in the settings of agents."""
        from prong.setup.hooks import HookSetup

        return HookSetup(self._stores, self._folder / "hooks")

    @cached_property
    def mcp(self) -> McpSetup:
        """Prong's MCP server in the settings of agents."""
        from prong.setup.mcp import McpSetup

        return McpSetup(self._stores)

    @cached_property
    def schedule(self) -> ScheduleSetup:
        """Scheduled updates of the index and of exports."""
        from prong.setup.schedule import ScheduleSetup

        return ScheduleSetup(self._stores, self._folder / "schedule")

    def doctor(self) -> doctor.Report:
        """Check the installation and suggest fixes."""
        from prong.setup import doctor

        return doctor.examine(self._app)

    def fix(self) -> list[doctor.Finding]:
        """Clean up after interrupted forks and repair the records; return what was done."""
        from prong.setup import doctor

        return [*doctor.fix(self._app)]

    def demo(self, home: Path) -> demo.Demo:
        """Write sample sessions into an empty folder."""
        from prong.setup import demo

        return demo.write(self._app.registry, home)
