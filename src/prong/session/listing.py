"""Session listing: scan for changes, filter, sort newest first."""

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
from prong.session.folder_names import is_windows

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class SessionFilter(Record, frozen=True):
    """Filter for listing sessions."""

    agent: str | None = None
    project: Path | None = None
    """Sessions that ever ran in this folder or below."""
    since: datetime | None = None
    limit: int | None = None
    everything: bool = False
    """Include archived and headless sessions."""


class Listing(Record, frozen=True, dict=True):
    """Matching sessions, and what was left out and why."""

    sessions: tuple[Session, ...]
    skipped: tuple[Skipped, ...]
    total: int
    """Number of sessions before any filter."""
    hidden: int
    """Number of matching sessions that are archived or headless."""
    more: int
    """Number of matching sessions beyond the limit."""
    copies: tuple[Skipped, ...] = ()
    """Older copies of sessions in other roots."""
    refs: tuple[SessionRef, ...] = ()
    """All sessions of the scanned agents, shown or not, so that a short id is unique."""
    failed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Plug-ins that could not list their sessions, and why."""

    @cached_property
    def by_name(self) -> Mapping[tuple[str, str], Session]:
        """The sessions by agent and id."""
        return {(session.ref.agent, session.ref.id): session for session in self.sessions}

    @property
    def unusable(self) -> tuple[Skipped, ...]:
        """Files that may contain a session but cannot be used."""
        return tuple(file for file in self.skipped if not file.harmless)


class Scanner:
    """Scans the sessions of all agents, using the cache."""

    def __init__(
        self,
        stores: Mapping[str, AgentStore],
        cache: ScanCache,
        scans: Mapping[str, Callable[[ScanCache], Scan]] | None = None,
    ) -> None:
        """Replace an agent's scan by one in `scans`, such as one that also indexes texts."""
        self._stores = stores
        self._cache = cache
        self._scans = scans or {}

    @no_collections()
    def listing(self, wanted: SessionFilter) -> Listing:
        if wanted.agent is not None and wanted.agent not in self._stores:
            names = ", ".join(self._stores)
            raise NotFound(f"unknown agent {wanted.agent!r}", hint=f"one of {names}")
        all_sessions: list[Session] = []
        skipped: list[Skipped] = []
        failed: dict[str, str] = {}
        for name in [wanted.agent] if wanted.agent else self._stores:
            try:
                scan = self._scan(name)
            except Exception as error:
                if name in BUILT_IN:
                    raise
                # A failing plug-in must not hide the other agents.
                failed[name] = f"{type(error).__name__}: {error}"
                continue
            all_sessions.extend(scan.sessions)
            skipped.extend(scan.skipped)
        sessions, copies = _without_copies(all_sessions)
        matching = _fitting(sessions, wanted)
        shown = matching if wanted.everything else [s for s in matching if not _is_hidden(s)]
        shown.sort(key=_time, reverse=True)
        limited = shown if wanted.limit is None else shown[: wanted.limit]
        return Listing(
            sessions=tuple(limited),
            skipped=tuple(skipped),
            total=len(sessions),
            hidden=len(matching) - len(shown),
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
    project = Project(wanted.project) if wanted.project is not None else None
    return [
        session
        for session in sessions
        if (session.updated or _LONG_AGO) >= since and (project is None or project.had(session))
    ]


class Project:
    """A project folder, known by its given and its real path: agents may record either."""

    def __init__(self, folder: Path) -> None:
        self._known: dict[tuple[str, ...], bool] = {}
        """Cached results by the folders of a session, which many sessions share."""
        if is_windows(str(folder)):
            # A path from another system can only be compared as text.
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
        """Return True if the session ever ran in the folder or below."""
        cwds = tuple(session.cwds)  # a plug-in may return a list
        cached = self._known.get(cwds)
        if cached is None:
            cached = self._known[cwds] = any(map(self._has, cwds))
        return cached

    def _has(self, cwd: str) -> bool:
        if self._windows is not None:
            return PureWindowsPath(cwd).is_relative_to(self._windows)
        return cwd in self._folders or cwd.startswith(self._below)


def _without_copies(sessions: Iterable[Session]) -> tuple[list[Session], list[Skipped]]:
    """Keep the newest copy of each session; a file may exist in two roots."""
    newest: dict[SessionRef, Session] = {}
    copies: list[Skipped] = []
    for session in sessions:
        other = newest.get(session.ref)
        if other is None:
            newest[session.ref] = session
            continue
        newer, older = sorted(
            (other, session), key=lambda one: (one.updated or _LONG_AGO, one.size), reverse=True
        )
        newest[session.ref] = newer
        copies.append(Skipped(older.path, f"a copy of {newer.path}"))
    return list(newest.values()), copies


def _is_hidden(session: Session) -> bool:
    """Return True for archived and headless sessions, except seeds, which people continue."""
    return session.archived or (session.headless and session.forked_at is None)
