"""Listing sessions: scan what changed, filter, newest first."""

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path, PureWindowsPath

from prong.agents.base import AgentStore, ScanCache
from prong.errors import NotFound
from prong.model.record import Record, field
from prong.model.sessions import Scan, Session, SessionRef, Skipped
from prong.plugins import BUILT_IN
from prong.processes.garbage import no_collections
from prong.sessions.folder_names import is_windows

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class SessionFilter(Record, frozen=True):
    """Which sessions are wanted."""

    agent: str | None = None
    project: Path | None = None
    """Sessions that were ever in this folder or below it."""
    since: datetime | None = None
    limit: int | None = None
    everything: bool = False
    """Also those that are archived or that no person took part in."""


class Listing(Record, frozen=True, dict=True):
    """Sessions that fit, and what was left out and why."""

    sessions: tuple[Session, ...]
    skipped: tuple[Skipped, ...]
    total: int
    """How many sessions there are before any filter."""
    hidden: int
    """How many would fit but are archived or headless."""
    more: int
    """How many fit but are beyond the limit."""
    copies: tuple[Skipped, ...] = ()
    """Older copies of sessions, in other roots."""
    refs: tuple[SessionRef, ...] = ()
    """All sessions of the agents that were asked, shown or not: a short name must fit but one."""
    failed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Plug-ins that could not list their sessions, and why."""

    @cached_property
    def by_name(self) -> Mapping[tuple[str, str], Session]:
        """The sessions by agent and id."""
        return {(one.ref.agent, one.ref.id): one for one in self.sessions}

    @property
    def unusable(self) -> tuple[Skipped, ...]:
        """Files that may hold a session and cannot be used; one without any is no problem."""
        return tuple(one for one in self.skipped if not one.harmless)


class Scanner:
    """Scans every agent, remembering through the cache."""

    def __init__(
        self,
        stores: Mapping[str, AgentStore],
        cache: ScanCache,
        scans: Mapping[str, Callable[[ScanCache], Scan]] | None = None,
    ) -> None:
        """`scans` are other ways to scan, by agent: those that take the words along."""
        self._stores = stores
        self._cache = cache
        self._scans = scans or {}

    @no_collections()
    def listing(self, wanted: SessionFilter) -> Listing:
        if wanted.agent is not None and wanted.agent not in self._stores:
            known = ", ".join(self._stores)
            raise NotFound(f"unknown agent {wanted.agent!r}", hint=f"one of {known}")
        found: list[Session] = []
        skipped: list[Skipped] = []
        failed: dict[str, str] = {}
        for name in [wanted.agent] if wanted.agent else self._stores:
            try:
                scan = self._scan(name)
            except Exception as error:
                if name in BUILT_IN:
                    raise
                # A plug-in is somebody else's code: its failure must not hide the other agents.
                failed[name] = f"{type(error).__name__}: {error}"
                continue
            found.extend(scan.sessions)
            skipped.extend(scan.skipped)
        sessions, copies = _without_copies(found)
        fitting = _fitting(sessions, wanted)
        shown = fitting if wanted.everything else [s for s in fitting if not _is_hidden(s)]
        shown.sort(key=_time, reverse=True)
        limited = shown if wanted.limit is None else shown[: wanted.limit]
        return Listing(
            sessions=tuple(limited),
            skipped=tuple(skipped),
            total=len(sessions),
            hidden=len(fitting) - len(shown),
            more=len(shown) - len(limited),
            copies=tuple(copies),
            refs=tuple([session.ref for session in sessions]),
            failed=failed,
        )

    def _scan(self, name: str) -> Scan:
        scan = self._scans.get(name, self._stores[name].scan)(self._cache)
        self._cache.save(name, scan)
        return scan


def _time(session: Session) -> float:
    return session.updated.timestamp() if session.updated else 0


def _fitting(sessions: Iterable[Session], wanted: SessionFilter) -> list[Session]:
    if wanted.since is None and wanted.project is None:
        return list(sessions)
    since = wanted.since or _LONG_AGO
    here = Project(wanted.project) if wanted.project is not None else None
    return [
        session
        for session in sessions
        if (session.updated or _LONG_AGO) >= since and (here is None or here.had(session))
    ]


class Project:
    """A folder, by the name it was given and by its real one: an agent may have seen either."""

    def __init__(self, folder: Path) -> None:
        self._known: dict[tuple[str, ...], bool] = {}
        """Most sessions were where others were."""
        if is_windows(str(folder)):
            # From another system: only its name can be compared.
            self.name = str(folder)
            self._folders, self._below = set[str](), ()
            self._windows = PureWindowsPath(str(folder))
            return
        self._windows = None
        try:
            self.name = os.path.abspath(os.path.expanduser(folder))  # noqa: PTH100, PTH111 -- no `..` stays
        except OSError:
            raise NotFound("this folder no longer exists", hint="cd somewhere else") from None
        self._folders = {self.name, os.path.realpath(self.name)}
        self._below = tuple(f"{name.rstrip(os.sep)}{os.sep}" for name in self._folders)

    def had(self, session: Session) -> bool:
        """True when the session was ever in the folder or below it."""
        cwds = tuple(session.cwds)  # a plug-in may have made a list of it
        known = self._known.get(cwds)
        if known is None:
            known = self._known[cwds] = any(map(self._has, cwds))
        return known

    def _has(self, cwd: str) -> bool:
        if self._windows is not None:
            return PureWindowsPath(cwd).is_relative_to(self._windows)
        return cwd in self._folders or cwd.startswith(self._below)


def _without_copies(sessions: Iterable[Session]) -> tuple[list[Session], list[Skipped]]:
    """One session for each ref: the same file may lie in two roots. The newest copy counts."""
    best: dict[SessionRef, Session] = {}
    copies: list[Skipped] = []
    for session in sessions:
        other = best.get(session.ref)
        if other is None:
            best[session.ref] = session
            continue
        newer, older = sorted((other, session), key=_freshness, reverse=True)
        best[session.ref] = newer
        copies.append(Skipped(older.path, f"a copy of {newer.path}"))
    return list(best.values()), copies


def _freshness(session: Session) -> tuple[datetime, int]:
    return (session.updated or _LONG_AGO, session.size)


def _is_hidden(session: Session) -> bool:
    """What nobody typed in; a seed is there to be gone on with, though a program typed it."""
    return session.archived or (session.headless and session.forked_at is None)
