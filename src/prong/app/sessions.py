"""Listing sessions: scan what changed, filter, newest first."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from prong.model import Scan, Session, SessionRef, Skipped
from prong.ports import AgentStore, ScanCache
from prong.registry import BUILT_IN

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class SessionFilter:
    """Which sessions are wanted."""

    agent: str | None = None
    project: Path | None = None
    """Sessions that were ever in this folder or below it."""
    since: datetime | None = None
    limit: int | None = None
    everything: bool = False
    """Also those that are archived or that no person took part in."""


@dataclass(frozen=True)
class Listing:
    """Sessions that fit, and what was left out and why."""

    sessions: tuple[Session, ...]
    skipped: tuple[Skipped, ...]
    total: int
    """How many sessions there are before any filter."""
    hidden: int
    """How many would fit but are archived or headless."""
    more: int
    """How many fit but are beyond the limit."""


class Scanner:
    """Scans every agent, remembering through the cache."""

    def __init__(self, stores: Mapping[str, AgentStore], cache: ScanCache) -> None:
        self._stores = stores
        self._cache = cache

    def listing(self, wanted: SessionFilter) -> Listing:
        names = [wanted.agent] if wanted.agent else list(self._stores)
        found: list[Session] = []
        skipped: list[Skipped] = []
        for name in names:
            if name not in self._stores:
                continue
            scan = self._scan(name)
            found.extend(scan.sessions)
            skipped.extend(scan.skipped)
        sessions, copies = _without_copies(found)
        skipped.extend(copies)
        fitting = [session for session in sessions if _fits(session, wanted)]
        shown = [s for s in fitting if wanted.everything or not (s.archived or s.headless)]
        shown.sort(key=lambda session: session.updated or _LONG_AGO, reverse=True)
        limited = shown if wanted.limit is None else shown[: wanted.limit]
        return Listing(
            sessions=tuple(limited),
            skipped=tuple(skipped),
            total=len(sessions),
            hidden=len(fitting) - len(shown),
            more=len(shown) - len(limited),
        )

    def _scan(self, name: str) -> Scan:
        store = self._stores[name]
        try:
            scan = store.scan(self._cache)
        except Exception as error:
            if name in BUILT_IN:
                raise
            # A plug-in is somebody else's code: its failure must not hide the other agents.
            reason = f"the plug-in {name} failed: {type(error).__name__}: {error}"
            return Scan((), (Skipped(Path(), reason),), complete=False)
        self._cache.save(name, scan)
        return scan


def _fits(session: Session, wanted: SessionFilter) -> bool:
    if wanted.since is not None and (session.updated or _LONG_AGO) < wanted.since:
        return False
    return wanted.project is None or in_project(session, wanted.project)


def in_project(session: Session, folder: Path) -> bool:
    """True when the session was ever in the folder or below it."""
    return any(Path(cwd).is_relative_to(folder) for cwd in session.cwds)


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
