"""Scheduled index updates and exports with systemd, launchd or cron."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from datetime import timedelta
from pathlib import Path

from prong.agents.stores import AgentStores
from prong.errors import NotFound, ProngError, Taken, Unavailable, UsageError
from prong.files.edits import Edit
from prong.model.findings import SetupState
from prong.model.record import Record
from prong.search.qmd.setup import INSTALL
from prong.setup.schedulers.cron import Cron
from prong.setup.schedulers.job import Job, ScheduledJob, Scheduler
from prong.setup.schedulers.launchd import Launchd
from prong.setup.schedulers.systemd import Systemd

SCHEDULERS = ("launchd", "systemd", "cron")
"""In order of preference."""
_FOLDERS = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME")


class ScheduleStatus(Record, frozen=True):
    scheduler: str
    state: SetupState
    job: ScheduledJob = ScheduledJob(None, (), active=False)
    problem: str | None = None
    """Why the scheduler cannot be used here, or does not answer."""


class SchedulePlan(Record, frozen=True):
    """What scheduling would write. Planning changes nothing."""

    scheduler: str
    remove: bool
    edits: tuple[Edit, ...]
    every: timedelta | None = None
    commands: tuple[str, ...] = ()
    """For display."""
    notes: tuple[str, ...] = ()
    needed: bool = True
    """False when nothing has to change."""


class ScheduleSetup:
    """The scheduled update of the index, and of exports."""

    def __init__(self, stores: AgentStores, backups: Path) -> None:
        self._stores = stores
        self._schedulers = (Launchd(backups), Systemd(backups), Cron(backups))

    def status(self) -> list[ScheduleStatus]:
        """Report the scheduled jobs of each scheduler."""
        return [_status(scheduler) for scheduler in self._schedulers]

    def plan_install(
        self,
        every: timedelta,
        export: Path | None = None,
        *,
        scheduler: str | None = None,
        collection: str | None = None,
    ) -> SchedulePlan:
        """Plan a job with the chosen scheduler, or with the first available one.

        With `collection`, each export also refreshes this qmd collection. Writes nothing.
        """
        if collection is not None and export is None:
            raise UsageError("a collection of qmd is made of exports", hint="--export DIR")
        chosen = self._chosen(scheduler)
        for other in self._schedulers:
            if other.name != chosen.name and _entry(other) is not None:
                raise Taken(
                    f"already scheduled with {other.name}",
                    hint=f"prong schedule remove --with {other.name}",
                )
        job = Job(tuple(_commands(export, collection)), every)
        edits = chosen.edits(job)
        entry = chosen.entry()
        is_same = entry is not None and entry.active
        return SchedulePlan(
            chosen.name,
            remove=False,
            edits=edits,
            every=every,
            commands=tuple(map(shlex.join, job.commands)),
            notes=tuple(self._notes()),
            needed=not is_same or any(edit.before != edit.after for edit in edits),
        )

    def plan_remove(self, scheduler: str | None = None) -> list[SchedulePlan]:
        """Plan removal of prong's jobs from all schedulers, or from one. Writes nothing."""
        return [
            SchedulePlan(each.name, remove=True, edits=each.edits(None))
            for each in self._schedulers
            if scheduler in (None, each.name) and each.entry() is not None
        ]

    def change(self, plan: SchedulePlan) -> None:
        """Carry out a plan."""
        if plan.needed:
            self._named(plan.scheduler).apply(plan.edits, remove=plan.remove)

    def _notes(self) -> list[str]:
        """Warn about variables that will be unset when the job runs."""
        names = [*self._stores.root_variables(), *_FOLDERS]
        names = [name for name in names if os.environ.get(name)]
        if not names:
            return []
        unset = f"{', '.join(names)} may not be set when the job runs"
        other_way = "agents.NAME.roots in config.toml names other folders of agents"
        return [f"{unset}: it does not get your environment; {other_way}"]

    def _named(self, name: str) -> Scheduler:
        for scheduler in self._schedulers:
            if scheduler.name == name:
                return scheduler
        raise NotFound(f"unknown scheduler {name!r}", hint=f"one of {', '.join(SCHEDULERS)}")

    def _chosen(self, name: str | None) -> Scheduler:
        reasons: list[str] = []
        for scheduler in [self._named(name)] if name else self._schedulers:
            reason = scheduler.missing()
            if reason is None:
                return scheduler
            reasons.append(f"{scheduler.name}: {reason}")
        raise Unavailable(
            f"no scheduler found ({'; '.join(reasons)})",
            hint=f"run it by hand: {shlex.join((*prong_command(), 'index'))}",
        )


def _status(scheduler: Scheduler) -> ScheduleStatus:
    missing = scheduler.missing()
    try:
        entry = scheduler.entry()
    except ProngError as error:
        return ScheduleStatus(scheduler.name, SetupState.UNKNOWN, problem=error.message)
    if entry is None:
        return ScheduleStatus(scheduler.name, SetupState.NONE, problem=missing)
    state = SetupState.INSTALLED
    if not entry.active:
        state = SetupState.OFF
    elif not any(scheduler.written(prong_command()) in command for command in entry.commands):
        state = SetupState.OUTDATED
    return ScheduleStatus(scheduler.name, state, entry, missing)


def prong_command() -> tuple[str, ...]:
    """Return a command that calls this prong from any folder."""
    sibling = Path(sys.executable).with_name("prong")
    if sibling.is_file() and os.access(sibling, os.X_OK):
        return (str(sibling),)
    # -P: do not import modules from the current folder.
    return (sys.executable, "-P", "-m", "prong")


def _commands(export: Path | None, collection: str | None) -> list[tuple[str, ...]]:
    commands: list[tuple[str, ...]] = [(*prong_command(), "index")]
    if export is not None:
        folder = os.path.abspath(export)  # noqa: PTH100 -- it runs in another folder
        path: tuple[str, ...] = ()
        qmd: tuple[str, ...] = ()
        if collection is not None:
            path = ("/usr/bin/env", f"PATH={_path_of_qmd()}")
            qmd = ("--index", f"--collection={collection}")
        commands.append((*path, *prong_command(), "export", *qmd, "--", folder))
    return commands


def _path_of_qmd() -> str:
    """Return a PATH that includes qmd and node: schedulers provide only the system's."""
    qmd = shutil.which("qmd")
    if qmd is None:
        raise Unavailable("qmd is not on PATH", hint=INSTALL)
    programs = (qmd, shutil.which("node"))
    folders = [os.path.dirname(os.path.abspath(path)) for path in programs if path]  # noqa: PTH100
    return os.pathsep.join(dict.fromkeys([*folders, "/usr/local/bin", "/usr/bin", "/bin"]))


def _entry(scheduler: Scheduler) -> ScheduledJob | None:
    try:
        return scheduler.entry()
    except ProngError:
        return None
