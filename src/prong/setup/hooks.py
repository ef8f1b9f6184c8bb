"""Installation, removal and status of hooks in agent settings."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from prong.agents.base import AgentHooks, HookedFiles, HookScope
from prong.agents.stores import AgentStores
from prong.code.ignored import ignored_among
from prong.code.repository import Repository
from prong.errors import ConfigError, ProngError, Unavailable, UsageError
from prong.files import edits
from prong.files.edits import Backups, Edit
from prong.log import debug
from prong.model.findings import SetupState
from prong.model.forks import Launch
from prong.model.record import Record


class HookStatus(Record, frozen=True):
    agent: str
    scope: HookScope
    state: SetupState
    files: tuple[Path, ...]
    found: Mapping[str, str]
    """Event -> the command it calls."""
    problem: str | None = None
    """Why the state is unknown, or why the agent ignores hooks that may be installed."""
    hint: str | None = None
    """How to fix the problem."""


class HookPlan(Record, frozen=True):
    """What installing or removing would do. Planning writes nothing."""

    agent: str
    scope: HookScope
    remove: bool
    edits: tuple[Edit, ...]
    originals: tuple[bytes | None, ...]
    """The contents of the files without prong's hooks."""
    notes: tuple[str, ...] = ()
    error: ProngError | None = None
    """Why this agent must be skipped; others can proceed."""

    @property
    def changes(self) -> tuple[Edit, ...]:
        return tuple(edit for edit in self.edits if edit.before != edit.after)


class _Settings(Record, frozen=True):
    """The settings files of one agent in one scope, with contents and backups."""

    agent: str
    scope: HookScope
    hooks: AgentHooks
    backups: Backups
    contents: dict[Path, bytes | None]

    @property
    def installed(self) -> dict[str, str]:
        return dict(self.hooks.found(self.contents))

    def wanted(self) -> dict[str, str]:
        """Return the hooks that an installation would add."""
        return dict(self.hooks.found(self._with_hooks().contents))

    def plan_install(self) -> HookPlan:
        new = self._with_hooks()
        disabled = self.hooks.turned_off(self.scope, Path.cwd())
        warnings = (disabled.message,) if disabled else ()
        if self.installed == dict(self.hooks.found(new.contents)):
            return self._plan(self.contents, remove=False, notes=warnings)
        created = [path for path, content in self.contents.items() if content is None]
        visible = _shown_by_git(created) if self.scope == "project" else []
        notes = (*warnings, *new.notes, *visible)
        return self._plan(new.contents, remove=False, notes=notes)

    def plan_remove(self) -> HookPlan:
        after = self._originals() if self.installed else self.contents
        return self._plan(after, remove=True)

    def _with_hooks(self) -> HookedFiles:
        return self.hooks.added(self._originals(), hook_command())

    def _originals(self) -> dict[Path, bytes | None]:
        stripped = self.hooks.taken_out(self.contents)
        return {
            path: self.backups.original(path, content, stripped[path])
            for path, content in self.contents.items()
        }

    def _plan(
        self, after: Mapping[Path, bytes | None], *, remove: bool, notes: tuple[str, ...] = ()
    ) -> HookPlan:
        edits = [Edit(path, before, after[path]) for path, before in self.contents.items()]
        originals = self._originals()
        return HookPlan(
            self.agent,
            self.scope,
            remove,
            tuple(edits),
            tuple(originals[path] for path in self.contents),
            notes,
        )


class HookSetup(Record, frozen=True):
    """Hooks of prong in the settings of agents."""

    stores: AgentStores
    folder: Path
    """Holds the backups of settings."""

    def status(self, *, scope: HookScope = "user", agent: str | None = None) -> list[HookStatus]:
        """Report whether the hooks of one agent, or of every agent with hooks, are installed."""
        return [self._status(name, scope) for name in self._agents(agent)]

    def _status(self, agent: str, scope: HookScope) -> HookStatus:
        hooks = self._hooks(agent)
        files = tuple(hooks.files(scope, Path.cwd()))
        try:
            settings = self._open(agent, scope)
            commands = settings.installed
            is_current = bool(commands) and commands == settings.wanted()
            disabled = hooks.turned_off(scope, Path.cwd())
        except ProngError as error:
            unknown = ", so its hooks are unknown" if isinstance(error, Unavailable) else ""
            problem = f"{error.message}{unknown}"
            return HookStatus(agent, scope, SetupState.UNKNOWN, files, {}, problem, error.hint)
        state = SetupState.OUTDATED if commands else SetupState.NONE
        return HookStatus(
            agent,
            scope,
            SetupState.INSTALLED if is_current else state,
            files,
            commands,
            disabled.message if disabled else None,
            disabled.hint if disabled else None,
        )

    def plan_install(
        self, *, scope: HookScope = "user", agent: str | None = None
    ) -> list[HookPlan]:
        """Plan installation for every agent in use, or for the named one. Writes nothing."""
        # An agent without files is not in use.
        used = [
            name
            for name in self._agents(agent)
            if agent is not None or any(root.is_dir() for root in self.stores[name].roots)
        ]
        if not used:
            raise UsageError("no agent found to install hooks for", hint="--agent claude")
        return self._planned(used, scope, _Settings.plan_install, named=agent is not None)

    def plan_remove(self, *, scope: HookScope = "user", agent: str | None = None) -> list[HookPlan]:
        """Plan removal for every agent, or for the named one. Writes nothing."""
        names = self._agents(agent)
        return self._planned(names, scope, _Settings.plan_remove, named=agent is not None)

    def _planned(
        self,
        agents: Iterable[str],
        scope: HookScope,
        plan: Callable[[_Settings], HookPlan],
        *,
        named: bool,
    ) -> list[HookPlan]:
        plans: list[HookPlan] = []
        for agent in agents:
            try:
                plans.append(plan(self._open(agent, scope)))
            except ProngError as error:
                if named:
                    raise
                plans.append(
                    HookPlan(agent, scope, remove=False, edits=(), originals=(), error=error)
                )
        return plans

    def change(self, plan: HookPlan) -> None:
        """Carry out a plan. Raises `Dirty` if a file has changed since."""
        if not plan.changes:
            return
        for edit in plan.changes:
            _check_folder(edit.path)
        if plan.remove:
            self._backups(plan.edits[0].path).remove(plan.edits)
        else:
            self._backups(plan.edits[0].path).install(plan.edits, plan.originals)

    def backup(self, plan: HookPlan, edit: Edit) -> Path | None:
        """Return the backup of a changed settings file; None when there was no file."""
        return self._backups(plan.edits[0].path).where(edit.path)

    def for_one_run(self, agent: str, launch: Launch) -> Launch:
        """Add hooks to one launch without installing them; unchanged if that is impossible."""
        hooks = self.stores.named(agent).hooks
        if hooks is None:
            return launch
        try:
            return hooks.for_one_run(launch, hook_command(), self.folder)
        except (ProngError, OSError) as error:
            # The agent works without hooks, and reports problems with its settings itself.
            debug(__name__, "%s is started without hooks: %s", agent, error)
            return launch

    def _agents(self, agent: str | None) -> list[str]:
        if agent is not None:
            return [agent]
        return [name for name, store in self.stores.items() if store.hooks]

    def _hooks(self, agent: str) -> AgentHooks:
        store = self.stores.named(agent)
        hooks = store.hooks
        if hooks is None:
            raise store.unsupported("have hooks")
        return hooks

    def _backups(self, first: Path) -> Backups:
        return Backups(self.folder, str(first))

    def _open(self, agent: str, scope: HookScope) -> _Settings:
        hooks = self._hooks(agent)
        files = hooks.files(scope, Path.cwd())
        contents = {path: edits.read(path) for path in files}
        return _Settings(agent, scope, hooks, self._backups(files[0]), contents)


def _shown_by_git(made: list[Path]) -> list[str]:
    """Return notes about new files that git does not ignore."""
    try:
        repository = Repository.find(Path.cwd())
        if repository is None:
            return []
        names = [
            os.path.relpath(path, repository.top)
            for path in made
            if path.is_relative_to(repository.top)
        ]
        visible = set(names) - set(ignored_among(repository.top, names))
    except ProngError as error:
        debug(__name__, "git does not say what it ignores: %s", error)
        return []
    exclude = shlex.quote(str(repository.common_dir / "info" / "exclude"))
    return [
        f"git will show {name} as a new file; to keep it out of git: "
        f"echo '**/{'/'.join(Path(name).parts[-2:])}' >> {exclude}"
        for name in sorted(visible)
    ]


def _check_folder(path: Path) -> None:
    """Raise `ConfigError` if no file can be created next to this one."""
    target = Path(os.path.realpath(path))
    folder = next(parent for parent in target.parents if parent.exists())
    # Respect a read-only mode even if writing would work: someone set it on purpose.
    mode = stat.S_IMODE(folder.stat().st_mode)
    if not mode & 0o222 or not os.access(folder, os.W_OK | os.X_OK):
        message = f"{path} cannot be written: {folder} is read-only"
        raise ConfigError(message, hint=f"chmod u+w {shlex.quote(str(folder))}", path=str(path))


def hook_command() -> tuple[str, ...]:
    """Return the command with which agents call this prong's `prong-hook`."""
    sibling = Path(sys.executable).with_name("prong-hook")
    if sibling.is_file() and os.access(sibling, os.X_OK):
        return (str(sibling),)
    on_path = shutil.which("prong-hook")
    if on_path is not None and os.path.realpath(Path(on_path).parent) == str(sibling.parent):
        return (on_path,)
    # -P: do not import modules from the agent's working folder.
    return (sys.executable, "-P", "-m", "prong.hook")
