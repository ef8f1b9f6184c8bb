"""The worktrees that prong created: their state, and which of them can be removed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import repeat
from pathlib import Path
from typing import Any

from prong import paths
from prong.agents.base import AgentStore
from prong.code.worktrees import work as worktree_work
from prong.code.worktrees import worktree as worktrees
from prong.code.worktrees.journal import under_way
from prong.code.worktrees.record import Worktree
from prong.code.worktrees.work import WorktreeWork
from prong.errors import Ambiguous, Busy, Dirty, NotFound, ProngError
from prong.model.forks import Fork, ForkPoint, Method
from prong.model.record import Record, field
from prong.model.sessions import Activity, Session, SessionRef
from prong.model.workers import WorkerInfo
from prong.processes import process as processes

_AT_ONCE = 8
_BLOCK = 512
_PATIENCE = 2.0
"""Seconds for measuring sizes. The rest stays unknown."""
_YOUNG = timedelta(days=1)
"""How long a fork without a session counts as about to be run."""
_FORCE = "--force"


class WorktreeState(StrEnum):
    OPEN = "open"
    """An agent has it open, working or waiting for a prompt."""
    NEW = "new"
    """Its fork has not run yet."""
    FINISHED = "finished"
    UNDER_WAY = "under way"
    """It is being created or removed, or was when prong was killed."""
    MISSING = "missing"
    """Its folder is gone, but its repository still lists it."""


class WorktreeStatus(Record, frozen=True):
    worktree: Worktree
    root: Path
    """The managed root that contains it."""
    state: WorktreeState
    session: SessionRef | None = None
    """The fork it was created for; else the newest session that ran in it."""
    title: str = ""
    parent: ForkPoint | SessionRef | None = None
    """What the session was forked from."""
    size: int | None = None
    """Bytes on disk; None if not measured in time."""
    work: WorktreeWork = field(default_factory=WorktreeWork)
    locked: bool = False
    processes: tuple[int, ...] = ()
    """Ids of all processes that run in it."""
    problem: str | None = None
    """Why git could not determine the work in it."""
    remedy: str = _FORCE
    """A hint that solves the problem."""

    @property
    def name(self) -> str:
        return self.worktree.path.name


class KeptWorktree(Record, frozen=True):
    """A worktree that cannot be removed, and the reason."""

    worktree: WorktreeStatus
    error: ProngError


class PrunePlan(Record, frozen=True):
    """Which worktrees would be removed, and which kept."""

    removed: tuple[WorktreeStatus, ...]
    kept: tuple[KeptWorktree, ...]


class ManagedWorktrees(Record, frozen=True):
    """The worktrees that prong created, and who uses them."""

    root: Path
    sessions: Callable[[], Sequence[Session]]
    forks: Callable[[], Iterable[Fork]]
    workers: Callable[[], Iterable[WorkerInfo]]
    stores: Mapping[str, AgentStore]
    take_in: Callable[[], None]
    """Records captured events, which may name a folder that is about to go."""

    @property
    def roots(self) -> tuple[Path, ...]:
        """The managed root, and the default one, which may have older worktrees."""
        return tuple(dict.fromkeys((self.root, paths.worktrees_dir())))

    def list(self) -> list[WorktreeStatus]:
        """List all worktrees, oldest first."""
        survey = _Survey(self)
        folders = survey.folders()
        until = time.monotonic() + _PATIENCE
        found = [
            (root, worktree)
            for root in self.roots
            for worktree in (*worktrees.listed(root), *worktrees.missing(root, folders))
        ]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            looks = pool.map(_look, [worktree for _, worktree in found], repeat(until))
            statuses = [survey.status(*one, look) for one, look in zip(found, looks, strict=True)]
        return sorted(statuses, key=lambda one: one.worktree.created)

    def is_used(self, path: Path) -> bool:
        """Tell whether a session, or a worker with a pane or process, uses a worktree."""
        top = os.path.realpath(path)
        workers = (worker for worker in self.workers() if worker.pane or worker.process)
        if any(_in(os.path.realpath(worker.workspace), top) for worker in workers):
            return True
        return any(_in(item, top) for one in self.sessions() for item in _real_folders(one))

    def plan_prune(self, names: Sequence[str] = (), *, force: bool = False) -> PrunePlan:
        """Plan which worktrees to remove: finished ones, or the named ones, else an error."""
        everything = self.list()
        chosen = [_named(everything, name) for name in dict.fromkeys(names)] or everything
        removed: list[WorktreeStatus] = []
        kept: list[KeptWorktree] = []
        for status in chosen:
            error = _objection(status, force=force)
            if error is None and status.state is WorktreeState.NEW and not names:
                hint = f"prong worktrees prune {status.name}"
                error = Busy("its fork has not run yet", hint=hint)
            if error is None:
                removed.append(status)
            elif names:
                raise error
            else:
                kept.append(KeptWorktree(status, error))
        return PrunePlan(tuple(removed), tuple(kept))

    def prune(self, worktree: WorktreeStatus, *, force: bool = False) -> str | None:
        """Remove a worktree unless it came into use meanwhile; return a branch that is kept."""
        recorded = worktree.worktree
        look = _look(recorded, time.monotonic())
        status = _Survey(self).status(worktree.root, recorded, look)
        error = _objection(status, force=force)
        if error is not None:
            raise error
        self.take_in()
        if status.state is WorktreeState.MISSING:
            return worktrees.forget_missing(worktree.root, recorded)
        return worktrees.remove(worktree.root, recorded, force=force)


def _named(everything: list[WorktreeStatus], name: str) -> WorktreeStatus:
    exact = [
        status
        for status in everything
        if name in (status.name, status.worktree.branch, str(status.worktree.path))
    ]
    matches = exact or [status for status in everything if name and status.name.startswith(name)]
    if not matches:
        raise NotFound(f"no worktree named {name}", hint="prong worktrees")
    if len(matches) > 1:
        hint = ", ".join(str(status.worktree.path) for status in matches)
        raise Ambiguous(f"{name} fits {len(matches)} worktrees", hint=hint)
    return matches[0]


def _objection(one: WorktreeStatus, *, force: bool) -> ProngError | None:
    """Return why a worktree cannot be removed. Force never overrides an agent's open session."""
    details = {"path": str(one.worktree.path)}
    if one.state is WorktreeState.UNDER_WAY:
        return Busy(
            f"{one.name} is being created or removed",
            hint="if prong was killed: prong doctor --fix",
            **details,
        )
    if one.state is WorktreeState.OPEN:
        return Busy(f"an agent has {one.name} open", hint=f"end {one.session} first", **details)
    if force or one.state is WorktreeState.MISSING:
        return None
    if one.processes:
        ours = set(processes.ancestors(os.getpid()))
        pids = (f"{pid} (your shell)" if pid in ours else str(pid) for pid in one.processes)
        first = "cd elsewhere" if ours.issuperset(one.processes) else "end it"
        return Busy(
            f"a program runs in {one.name}: process {', '.join(pids)}",
            hint=f"{first}, or use --force",
            **details,
        )
    if one.locked:
        return Dirty(
            f"{one.name} is locked", hint=f"git worktree unlock {one.worktree.path}", **details
        )
    if one.problem:
        return Dirty(f"git cannot read {one.name}: {one.problem}", hint=one.remedy, **details)
    if one.work.would_be_lost:
        return Dirty(
            f"{one.name} has changes that exist nowhere else",
            hint=f"commit them in {one.worktree.path}, or use --force",
            **details,
        )
    return None


def _look(worktree: Worktree, until: float) -> dict[str, Any]:
    """Return the fields of a status that its folder tells; its size is measured until `until`."""
    if not os.path.lexists(worktree.path):
        return {}
    size = _size(worktree.path, until)
    try:
        locked = worktree_work.is_locked(worktree)
        return {"size": size, "work": worktree_work.work_in(worktree), "locked": locked}
    except ProngError as error:
        return {"size": size, "problem": error.message, "remedy": error.hint or _FORCE}


class _Survey:
    """Sessions and processes at one moment."""

    def __init__(self, managed: ManagedWorktrees) -> None:
        self._stores = managed.stores
        self._sessions = {session.ref: session for session in managed.sessions()}
        self._places = {ref: _real_folders(item) for ref, item in self._sessions.items()}
        self._forks = {fork.child: fork for fork in managed.forks()}
        self._under_way = {path for root in managed.roots for path in under_way(root)}
        # Empty where the system does not report it.
        self._running = [
            (pid, item["cwd"]) for pid, item in processes.running("cwd") if item["cwd"]
        ]
        self._headless = {
            os.path.realpath(worker.worktree)
            for worker in managed.workers()
            if worker.headless and worker.worktree and not worker.stopped
        }

    def folders(self) -> list[Path]:
        """List where sessions ran: their repositories may list worktrees that are gone."""
        names = {folder for folders in self._places.values() for folder in folders}
        names |= {fork.parent_workspace for fork in self._forks.values() if fork.parent_workspace}
        return [Path(folder) for folder in sorted(names)]

    def status(self, root: Path, worktree: Worktree, look: Mapping[str, Any]) -> WorktreeStatus:
        top = os.path.realpath(worktree.path)
        refs = [ref for ref, folders in self._places.items() if any(_in(f, top) for f in folders)]
        own = _ref(worktree.session)
        ref = own or (refs[0] if refs else None)
        session = self._sessions.get(ref) if ref else None
        fork = self._forks.get(ref) if ref else None
        return WorktreeStatus(
            worktree=worktree,
            root=root,
            state=self._state(worktree, refs, own),
            session=ref,
            title=session.title if session else "",
            parent=fork.parent if fork else session.parent if session else None,
            processes=tuple(pid for pid, folder in self._running if _in(folder, top)),
            **look,
        )

    def _state(
        self, worktree: Worktree, here: list[SessionRef], own: SessionRef | None
    ) -> WorktreeState:
        if Path(os.path.realpath(worktree.path)) in self._under_way:
            return WorktreeState.UNDER_WAY
        if not os.path.lexists(worktree.path):
            return WorktreeState.MISSING
        if any(self._is_open(ref) for ref in {*here, *([own] if own else [])}):
            return WorktreeState.OPEN
        if os.path.realpath(worktree.path) in self._headless:
            return WorktreeState.OPEN  # it has no process between two prompts
        if here:
            ran = any(_has_run(self._sessions[ref], self._forks.get(ref)) for ref in here)
        else:
            ran = datetime.now(UTC) - worktree.created > _YOUNG
        return WorktreeState.FINISHED if ran else WorktreeState.NEW

    def _is_open(self, ref: SessionRef) -> bool:
        store = self._stores.get(ref.agent)
        if store is None or not store.roots:
            return False
        # A session without a prompt may have no file yet.
        session = self._sessions.get(ref) or Session(ref, str(store.roots[0] / ref.id), "")
        return store.activity(session) is not Activity.CLOSED


def _real_folders(session: Session) -> set[str]:
    return {os.path.realpath(folder) for folder in (session.cwd, *session.cwds) if folder}


def _in(folder: str, top: str) -> bool:
    return f"{folder}/".startswith(f"{top}/")


def _has_run(session: Session, fork: Fork | None) -> bool:
    """Tell whether a session has a turn of its own; the first turn of a seed does not count."""
    seeded = fork is not None and fork.method is Method.SEED
    return session.turn_count - session.inherited > int(seeded)


def _ref(text: str | None) -> SessionRef | None:
    agent, _, id_ = (text or "").partition(":")
    return SessionRef(agent, id_) if id_ else None


def _size(path: Path, until: float) -> int | None:
    """Return the bytes on disk of a folder; None if that takes until after `until`."""
    total = 0
    folders = [os.fspath(path)]
    while folders:
        if time.monotonic() > until:
            return None
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:
            continue  # deleted meanwhile, or not readable
    return total
