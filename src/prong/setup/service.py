"""`App.setup`: hooks, MCP registration, schedules, checks and the demo."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from prong.agents.base import HookScope
from prong.model.forks import Launch

if TYPE_CHECKING:
    from prong.app import App
    from prong.files.edits import Edit
    from prong.setup import demo, doctor
    from prong.setup.hooks import HookPlan, HookStatus
    from prong.setup.mcp import McpSetup
    from prong.setup.schedule import ScheduleArguments, SchedulePlan, ScheduleStatus


class SetupService:
    def __init__(self, app: App) -> None:
        self._app = app

    # -- hooks -------------------------------------------------------------------------------

    def hooks(
        self, *, scope: HookScope = "user", folder: Path | None = None, agent: str | None = None
    ) -> list[HookStatus]:
        """Report whether prong's hooks are installed in the agents' settings."""
        from prong.setup import hooks

        return hooks.status(self._app, scope, folder or Path.cwd(), agent)

    def plan_hooks(
        self,
        *,
        scope: HookScope = "user",
        folder: Path | None = None,
        agent: str | None = None,
        remove: bool = False,
    ) -> list[HookPlan]:
        """Plan the installation or removal of hooks. Writes nothing."""
        from prong.setup import hooks

        plan = hooks.plan_remove if remove else hooks.plan_install
        return plan(self._app, scope, folder or Path.cwd(), agent)

    def change_hooks(self, plan: HookPlan) -> None:
        """Apply a hook plan to the settings of an agent."""
        from prong.setup import hooks

        hooks.change(self._app, plan)

    def hook_backup(self, plan: HookPlan, edit: Edit) -> Path | None:
        """Return the backup of a changed settings file; None when there was no file."""
        from prong.setup import hooks

        return hooks.backup(self._app, plan, edit)

    def hooked(self, agent: str, launch: Launch) -> Launch:
        """Add prong's hooks to a single launch of an agent."""
        from prong.setup import hooks

        return hooks.for_one_run(self._app, agent, launch)

    # -- MCP and schedules -------------------------------------------------------------------

    @cached_property
    def mcp(self) -> McpSetup:
        """Setup of prong's MCP server in the agents' settings."""
        from prong.setup.mcp import McpSetup

        return McpSetup(self._app)

    def schedules(self) -> list[ScheduleStatus]:
        """Report the scheduled jobs of each scheduler."""
        from prong.setup import schedule

        return schedule.status(self._app)

    def plan_schedule(
        self, every: timedelta, export: Path | None = None, **how: Unpack[ScheduleArguments]
    ) -> SchedulePlan:
        """Plan a scheduled update of the index, and of exports. Writes nothing."""
        from prong.setup import schedule

        return schedule.plan_install(self._app, every, export, **how)

    def plan_unschedule(self, scheduler: str | None = None) -> list[SchedulePlan]:
        """Plan the removal of scheduled updates. Writes nothing."""
        from prong.setup import schedule

        return schedule.plan_remove(self._app, scheduler)

    def change_schedule(self, plan: SchedulePlan) -> None:
        """Carry out a plan that installs or removes a schedule."""
        from prong.setup import schedule

        schedule.change(self._app, plan)

    # -- the installation --------------------------------------------------------------------

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
