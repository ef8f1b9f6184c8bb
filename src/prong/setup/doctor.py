"""Check of the installation: what is present, what is missing, and how to fix it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prong import __version__, paths
from prong.agents.base import AgentStore
from prong.agents.stores import AgentStores
from prong.errors import ProngError
from prong.files import publication
from prong.files.journal import leftovers
from prong.model.amounts import counted, size_text
from prong.model.findings import Finding, Level, SetupState
from prong.model.record import Record
from prong.model.sessions import Program, Session
from prong.plugins import BUILT_IN, Registry
from prong.processes import programs
from prong.session.listing import SessionFilter
from prong.session.service import SessionService
from prong.setup.doctor_code import CodeDoctor, git
from prong.setup.hooks import HookSetup
from prong.setup.mcp import McpSetup
from prong.storage import repairs
from prong.storage.forks import Health
from prong.storage.workers import WorkerRecords
from prong.workers import push

_WARN_BEFORE = timedelta(days=7)
_NUMBER = re.compile(r"\d+(?:\.\d+)+")
_LEAVE_OUT = "set PRONG_PLUGINS=none to disable plug-ins"


class Report(Record, frozen=True):
    findings: tuple[Finding, ...]

    @property
    def warnings(self) -> int:
        return sum(finding.level is Level.WARNING for finding in self.findings)


class InstallationDoctor(Record, frozen=True):
    """Checks and repairs of the installation."""

    sessions: SessionService
    stores: AgentStores
    registry: Registry
    code: CodeDoctor
    hooks: HookSetup
    mcp: McpSetup
    workers: WorkerRecords
    health: Callable[[], Health | None]
    """None when nothing is recorded."""
    state: Path

    def examine(self) -> Report:
        listing = self.sessions.list(SessionFilter(everything=True))
        findings = [Finding("prong", Level.OK, f"version {__version__}"), *git()]
        for name, store in self.stores.items():
            sessions = [session for session in listing.sessions if session.agent == name]
            findings.extend(self._agent(name, store, sessions))
        findings.extend(self._unknown_agents())
        files = (*listing.unusable, *listing.copies)
        findings.extend(
            Finding("files", Level.NOTE, f"{file.path}: {file.reason}") for file in files
        )
        findings.extend(self._unfinished())
        findings.extend(self._state_db())
        findings.extend(self.code.examine(listing.sessions))
        findings.extend(self._pushes())
        findings.extend(self._plug_ins(listing.failed))
        findings.append(Finding("cache", Level.OK, f"{paths.cache_dir()} (may be deleted)"))
        return Report(tuple(findings))

    def fix(self) -> Iterable[Finding]:
        """Clean up after killed forks, and restore lost records."""
        for leftover in leftovers(self.state / "journal"):
            try:
                removed = publication.undo(leftover)
            except OSError as error:
                # Continue with the other leftovers.
                yield Finding("forks", Level.WARNING, f"cannot remove leftovers of a fork: {error}")
                continue
            for path in removed:
                yield Finding("forks", Level.OK, f"removed {path}")
            if not removed:
                yield Finding("forks", Level.OK, f"removed {leftover}")
        # Only after the cleanup is it clear which sessions exist and which worktrees they use.
        yield from self.code.fix()

    def _pushes(self) -> list[Finding]:
        try:
            return list(push.examine(self.workers.all()))
        except ProngError:
            return []  # reported above with the records

    def _agent(self, name: str, store: AgentStore, sessions: list[Session]) -> list[Finding]:
        try:
            findings = [*_program(name, store), *_roots(name, store, sessions)]
            return [*findings, *self._hooks(name, store), *self._mcp(name, store)]
        except Exception as error:
            if name in BUILT_IN:
                raise
            message = f"the plug-in failed: {type(error).__name__}: {error}"
            return [Finding(name, Level.WARNING, message, _LEAVE_OUT)]

    def _unknown_agents(self) -> Iterable[Finding]:
        for name in self.registry.extra_roots:
            if name not in self.stores:
                message = f"agents.{name}: unknown agent"
                yield Finding("config", Level.WARNING, message, f"edit {paths.config_file()}")

    def _hooks(self, agent: str, store: AgentStore) -> Iterable[Finding]:
        # An agent without files is not in use.
        if store.hooks is None or not any(root.is_dir() for root in store.roots):
            return
        (status,) = self.hooks.status(agent=agent)
        if status.problem:
            # Hooks are turned off on purpose.
            level = Level.WARNING if status.state is SetupState.UNKNOWN else Level.NOTE
            hint = status.hint or "prong hooks status"
            yield Finding(agent, level, f"hooks: {status.problem}", hint)
        elif status.state is SetupState.INSTALLED:
            yield Finding(agent, Level.OK, "hooks are installed: code is captured after every turn")
        elif status.state is SetupState.OUTDATED:
            message = "hooks are outdated: some are missing or call another prong"
            yield Finding(agent, Level.WARNING, message, "prong hooks install")
        else:
            message = "hooks are not installed: code is not captured"
            yield Finding(agent, Level.NOTE, message, "prong hooks install")

    def _mcp(self, agent: str, store: AgentStore) -> Iterable[Finding]:
        if store.mcp_servers is None or not any(root.is_dir() for root in store.roots):
            return
        install = f"prong mcp install --agent {agent}"
        try:
            status = self.mcp.status(agent)
        except ProngError as error:
            yield Finding(agent, Level.WARNING, f"MCP: {error.message}", error.hint)
            return
        scope = status.entry.scope if status.entry else "user"
        again = f"{install} --scope {scope}" if scope != "user" else install
        if status.state is SetupState.NONE:
            message = "the MCP server is not registered: the agent cannot search and fork"
            yield Finding(agent, Level.NOTE, message, install)
        elif status.state is SetupState.OUTDATED:
            message = (
                "the MCP server is outdated: it runs another prong or lacks environment variables"
            )
            yield Finding(agent, Level.WARNING, message, again)
        else:
            where = f"by the plug-in {status.plug_in}" if status.plug_in else scope
            yield Finding(agent, Level.OK, f"the MCP server is registered ({where})")

    def _unfinished(self) -> Iterable[Finding]:
        forks = leftovers(self.state / "journal")
        if forks:
            message = f"{counted(len(forks), 'fork')} interrupted; files are left over"
            yield Finding("forks", Level.WARNING, message, "prong doctor --fix")

    def _state_db(self) -> Iterable[Finding]:
        health, database = self.health(), self.state / "state.db"
        if health is None:
            return
        if health.problem:
            message = f"{database}: {health.problem}"
            yield Finding("state", Level.WARNING, message, "forks work, but are not recorded")
        else:
            yield Finding(
                "state", Level.OK, f"{database}: {counted(health.forks, 'recorded fork')}"
            )
        for path in health.damaged:
            message = f"{path} was damaged: a new state.db contains what could be recovered"
            yield Finding("state", Level.NOTE, message, "delete it when nothing is missing")
        for repair in repairs.found(database):
            yield Finding("state", Level.NOTE, repair.message)
        repairs.mark_seen(database)

    def _plug_ins(self, failed: Mapping[str, str]) -> Iterable[Finding]:
        for plug_in in self.registry.plug_ins:
            error = plug_in.error or failed.get(plug_in.name)
            if error:
                message = f"{plug_in.name} ({plug_in.target}) is broken: {error}"
                yield Finding("plug-ins", Level.WARNING, message, _LEAVE_OUT)
            else:
                yield Finding("plug-ins", Level.OK, f"{plug_in.name} ({plug_in.target})")
        if not self.registry.plug_ins:
            yield Finding("plug-ins", Level.OK, "none")


def _program(agent: str, store: AgentStore) -> Iterable[Finding]:
    program = store.program
    if program is None:
        return
    path = shutil.which(program.name)
    if path is None:
        message = f"{program.name} is not on PATH: sessions can be read and forked, but not resumed"
        yield Finding(agent, Level.WARNING, message, program.install)
        return
    version = programs.output([path, "--version"])
    if version is None:
        yield Finding(agent, Level.WARNING, f"{path} does not run", program.install)
        return
    yield _version(agent, program, path, version.strip().splitlines()[0])
    missing = programs.missing_flags(path, program.flags) or []
    if missing:
        message = f"it does not know {', '.join(missing)}"
        yield Finding(agent, Level.WARNING, message, f"update it: {program.install}")
    else:
        yield Finding(agent, Level.OK, f"knows {', '.join(program.flags)}")


def _version(agent: str, program: Program, path: str, said: str) -> Finding:
    """Compare a version with the tested range."""
    number = _NUMBER.search(said)
    if number is None or not program.tested:
        return Finding(agent, Level.OK, f"{path}: {said}")
    installed = f"{path}: {program.product} {number[0]}"
    tested = f"tested: {', '.join(program.tested)}"
    details = {"path": path, "version": number[0], "tested": program.tested}
    if _parts(number[0]) > _parts(program.tested[-1]):
        message = f"{installed} is newer than the tested versions ({tested})"
        return Finding(agent, Level.NOTE, message, details=details)
    if _parts(number[0]) < _parts(program.tested[0]):
        message = f"{installed} is older than the tested versions ({tested})"
        return Finding(agent, Level.NOTE, message, f"update it: {program.install}", details)
    return Finding(agent, Level.OK, f"{installed} ({tested})", details=details)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _roots(agent: str, store: AgentStore, sessions: list[Session]) -> Iterable[Finding]:
    for root in store.roots:
        if not root.is_dir():
            yield Finding(agent, Level.NOTE, f"{root} does not exist")
            continue
        local = [session for session in sessions if session.path.is_relative_to(root)]
        size = sum(session.size for session in local)
        turns = sum(session.turn_count for session in local)
        counts = f"{counted(len(local), 'session')}, {counted(turns, 'turn')}"
        message = f"{root}: {counts}, {size_text(size)}"
        yield Finding(agent, Level.OK, message)
        yield from _retention(agent, store, root, local)


def _retention(
    agent: str, store: AgentStore, root: Path, sessions: list[Session]
) -> Iterable[Finding]:
    retention = store.retention(root)
    if retention is None:
        return
    yield Finding(
        agent, Level.OK, f"deletes sessions after {retention.days} days ({retention.source})"
    )
    now = datetime.now(UTC)
    threshold = retention.days - _WARN_BEFORE.days
    expiring = [s for s in sessions if s.updated and (now - s.updated).days >= threshold]
    if expiring:
        yield Finding(
            agent,
            Level.WARNING,
            f"{counted(len(expiring), 'session')} will be deleted within {_WARN_BEFORE.days} days",
            f'raise "cleanupPeriodDays" in {root / "settings.json"}',
        )
