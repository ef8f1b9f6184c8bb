"""Hooks in the settings of agents: what would change, changing it, and how things stand."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.base import AgentHooks, CanBeTurnedOff, HasHooks, HookScope, capable
from prong.code.ignored import ignored_among
from prong.code.repository import Repository
from prong.errors import ConfigError, ProngError, Unavailable, UsageError
from prong.files import edits
from prong.files.edits import Backups, Edit
from prong.log import debug
from prong.model.forks import Launch
from prong.model.record import Record

if TYPE_CHECKING:
    from prong.app import App


class HookState(StrEnum):
    """How things stand with the hooks of one agent in one place."""

    INSTALLED = "installed"
    OUTDATED = "outdated"
    """Some are missing, or they call another program than this prong's."""
    NONE = "none"
    UNKNOWN = "unknown"
    """The settings cannot be read, or the agent cannot be asked."""


class HookStatus(Record, frozen=True):
    agent: str
    scope: HookScope
    state: HookState
    files: tuple[Path, ...]
    found: Mapping[str, str]
    """Event -> the command that is called."""
    problem: str | None = None
    """Why nothing can be said, or why the agent runs no hooks although they may be there."""
    hint: str | None = None
    """What to do about the problem."""


class HookPlan(Record, frozen=True):
    """What installing or removing would do. A pure value: making it wrote nothing."""

    agent: str
    scope: HookScope
    remove: bool
    edits: tuple[Edit, ...]
    originals: tuple[bytes | None, ...]
    """What the files are without our hooks."""
    notes: tuple[str, ...] = ()
    error: ProngError | None = None
    """Why nothing can be done for this agent; others may go on without it."""

    @property
    def changes(self) -> tuple[Edit, ...]:
        return tuple(edit for edit in self.edits if edit.before != edit.after)


class _Desk(Record, frozen=True):
    """The settings files of one agent in one place, and what is known of them."""

    agent: str
    scope: HookScope
    hooks: AgentHooks
    backups: Backups
    contents: dict[Path, bytes | None]

    @classmethod
    def open(cls, app: App, agent: str, scope: HookScope, folder: Path) -> _Desk:
        hooks = capable(app.store(agent), HasHooks, "have hooks").hooks
        files = hooks.files(scope, folder)
        backups = Backups(app.state_dir / "hooks", str(files[0]))
        return cls(agent, scope, hooks, backups, {path: edits.read(path) for path in files})

    def originals(self) -> dict[Path, bytes | None]:
        stripped = self.hooks.taken_out(self.contents)
        return {
            path: self.backups.original(path, content, stripped[path])
            for path, content in self.contents.items()
        }

    def plan(
        self, after: Mapping[Path, bytes | None], *, remove: bool, notes: tuple[str, ...] = ()
    ) -> HookPlan:
        originals = self.originals()
        return HookPlan(
            self.agent,
            self.scope,
            remove,
            tuple(Edit(path, before, after[path]) for path, before in self.contents.items()),
            tuple(originals[path] for path in self.contents),
            notes,
        )


def status(app: App, scope: HookScope, folder: Path, agent: str | None = None) -> list[HookStatus]:
    """How it stands with each agent that has hooks, or with one."""
    return [_status(app, name, scope, folder) for name in _agents(app, agent)]


def _status(app: App, agent: str, scope: HookScope, folder: Path) -> HookStatus:
    hooks = capable(app.store(agent), HasHooks, "have hooks").hooks
    files = tuple(hooks.files(scope, folder))
    try:
        desk = _Desk.open(app, agent, scope, folder)
        found = dict(hooks.found(desk.contents))
        current = bool(found) and found == _wanted(desk)
        off = _turned_off(hooks, scope, folder)
    except Unavailable as error:
        problem = f"{error.message}, so its hooks are unknown"
        return HookStatus(agent, scope, HookState.UNKNOWN, files, {}, problem, error.hint)
    except ProngError as error:
        return HookStatus(agent, scope, HookState.UNKNOWN, files, {}, error.message, error.hint)
    state = HookState.OUTDATED if found else HookState.NONE
    return HookStatus(
        agent,
        scope,
        HookState.INSTALLED if current else state,
        files,
        found,
        off.message if off else None,
        off.hint if off else None,
    )


def _turned_off(hooks: AgentHooks, scope: HookScope, folder: Path) -> ProngError | None:
    return hooks.turned_off(scope, folder) if isinstance(hooks, CanBeTurnedOff) else None


def _wanted(desk: _Desk) -> dict[str, str]:
    new = desk.hooks.added(desk.originals(), hook_command()).contents
    return dict(desk.hooks.found(new))


def plan_install(app: App, scope: HookScope, folder: Path, agent: str | None) -> list[HookPlan]:
    """What would be written for each agent that is there, or for the one that is named."""

    def plan(name: str) -> HookPlan:
        desk = _Desk.open(app, name, scope, folder)
        new = desk.hooks.added(desk.originals(), hook_command())
        done = dict(desk.hooks.found(desk.contents)) == dict(desk.hooks.found(new.contents))
        off = _turned_off(desk.hooks, scope, folder)
        told = (off.message,) if off else ()
        if done:
            return desk.plan(desk.contents, remove=False, notes=told)
        made = [path for path, content in desk.contents.items() if content is None]
        shown = _shown_by_git(made, folder) if scope == "project" else []
        return desk.plan(new.contents, remove=False, notes=(*told, *new.notes, *shown))

    plans = [
        _planned(plan, name, scope, named=agent is not None)
        for name in _agents(app, agent)
        # Where an agent keeps nothing, nobody uses it.
        if agent is not None or any(root.is_dir() for root in app.store(name).roots)
    ]
    if not plans:
        raise UsageError("no agent found to install hooks for", hint="--agent claude")
    return plans


def _shown_by_git(made: list[Path], folder: Path) -> list[str]:
    """What to say of new files in a repository that git does not ignore."""
    try:
        repository = Repository.find(folder)
        if repository is None:
            return []
        names = [
            os.path.relpath(path, repository.top)
            for path in made
            if path.is_relative_to(repository.top)
        ]
        shown = set(names) - set(ignored_among(repository.top, names))
    except ProngError as error:
        debug(__name__, "git does not say what it ignores: %s", error)
        return []
    exclude = shlex.quote(str(repository.common_dir / "info" / "exclude"))
    return [
        f"git will show {name} as a new file; to keep it out of git: "
        f"echo '**/{'/'.join(Path(name).parts[-2:])}' >> {exclude}"
        for name in sorted(shown)
    ]


def plan_remove(app: App, scope: HookScope, folder: Path, agent: str | None) -> list[HookPlan]:
    """What would be taken back."""

    def plan(name: str) -> HookPlan:
        desk = _Desk.open(app, name, scope, folder)
        there = desk.hooks.found(desk.contents)
        return desk.plan(desk.originals() if there else desk.contents, remove=True)

    return [_planned(plan, name, scope, named=agent is not None) for name in _agents(app, agent)]


def _planned(
    plan: Callable[[str], HookPlan], agent: str, scope: HookScope, *, named: bool
) -> HookPlan:
    try:
        return plan(agent)
    except ProngError as error:
        if named:
            raise
        return HookPlan(agent, scope, remove=False, edits=(), originals=(), error=error)


def change(app: App, plan: HookPlan) -> None:
    """Do what a plan says. Raises `Dirty` when a file is no longer what it was then."""
    if not plan.changes:
        return
    for edit in plan.changes:
        _check_folder(edit.path)
    backups = Backups(app.state_dir / "hooks", str(plan.edits[0].path))
    if plan.remove:
        backups.remove(plan.edits)
    else:
        backups.install(plan.edits, plan.originals)


def _check_folder(path: Path) -> None:
    """Raise `ConfigError` where no file can be written beside this one."""
    target = Path(os.path.realpath(path))
    folder = next(one for one in target.parents if one.exists())
    # As with a file: whoever made it read-only meant it, even where we could.
    mode = stat.S_IMODE(folder.stat().st_mode)
    if not mode & 0o222 or not os.access(folder, os.W_OK | os.X_OK):
        message = f"{path} cannot be written: {folder} is read-only"
        raise ConfigError(message, hint=f"chmod u+w {shlex.quote(str(folder))}", path=str(path))


def backup(app: App, plan: HookPlan, edit: Edit) -> Path | None:
    """Where the bytes are that a file had before."""
    return Backups(app.state_dir / "hooks", str(plan.edits[0].path)).where(edit.path)


def for_one_run(app: App, agent: str, launch: Launch) -> Launch:
    """The launch with our hooks, without any installation; as it is where that cannot be."""
    store = app.store(agent)
    if not isinstance(store, HasHooks):
        return launch
    try:
        return store.hooks.for_one_run(launch, hook_command(), app.state_dir / "hooks")
    except (ProngError, OSError) as error:
        # Without hooks the agent works as well; and what is wrong with its settings, it says.
        debug(__name__, "%s is started without hooks: %s", agent, error)
        return launch


def hook_command() -> tuple[str, ...]:
    """How agents call this prong's own `prong-hook`."""
    beside = Path(sys.executable).with_name("prong-hook")
    if beside.is_file() and os.access(beside, os.X_OK):
        return (str(beside),)
    on_path = shutil.which("prong-hook")
    if on_path is not None and os.path.realpath(Path(on_path).parent) == str(beside.parent):
        return (on_path,)
    # -P: not the modules of the folder that the agent works in.
    return (sys.executable, "-P", "-m", "prong.hook")


def _agents(app: App, agent: str | None) -> list[str]:
    if agent is not None:
        return [agent]
    return [name for name, store in app.stores.items() if isinstance(store, HasHooks)]
