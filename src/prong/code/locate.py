"""Locate snapshots whose worktree was removed or whose repository was moved.

A snapshot's ref names its session, and all worktrees of a repository share their refs. So any
folder that leads to the repository will do, whatever the folder of the session was called.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from prong.agents.base import AgentStore
from prong.code.repository import Repository
from prong.code.snapshots import refs
from prong.code.worktrees.journal import entries_of
from prong.code.worktrees.record import common_of, entry_of, place_of
from prong.errors import ProngError, UsageError
from prong.files.regular import open_regular
from prong.log import debug
from prong.model.code import Snapshot, TurnKey
from prong.model.forks import Fork
from prong.model.sessions import Conversation, Session, SessionRef

_DEPTH = 2
"""How many levels below the former parent folder of a repository are searched."""
_MOST = 1000
"""Maximum number of folders searched there."""


class SnapshotSearch:
    """A search for the snapshots of some sessions, which visits each repository once."""

    def __init__(self, sessions: Iterable[SessionRef]) -> None:
        self._prefixes: list[str] = []
        for session in dict.fromkeys(sessions):
            with suppress(UsageError):  # such an id cannot have snapshots
                key = TurnKey(session.agent, session.id, TurnKey.BASELINE)
                self._prefixes.append(refs.session_refs(key))
        self.looked: list[Path] = []
        """The repositories that were searched."""
        self.found: list[Snapshot] = []

    def visit_until_found(self, folders: Iterable[Path]) -> None:
        """Search until there are results."""
        remaining = iter(folders)
        while not self.found and (folder := next(remaining, None)):
            self.visit(folder)

    def visit(self, folder: Path) -> None:
        """Search the repository that a folder leads to."""
        common = _repository(folder)
        if common is None or common in self.looked:
            return
        self.looked.append(common)
        if not _may_have_any(common):
            return
        try:
            snapshots = [
                snapshot
                for prefix in self._prefixes
                for snapshot in refs.find(common, prefix)
                if snapshot.ref == refs.ref_of(snapshot.key)
            ]
            top = _working_tree(common, folder) if snapshots else None
        except ProngError as error:
            debug(__name__, "cannot read what %s has: %s", common, error)
            return
        self.found += [snapshot._replace(repo=top) for snapshot in snapshots] if top else []


def present(found: Iterable[Snapshot]) -> tuple[set[str], set[str]]:
    """Return the commits that exist, and those that cannot be looked for; others are gone."""
    existing: set[str] = set()
    unknown: set[str] = set()
    by_repo: dict[Path, set[str]] = defaultdict(set)
    for snapshot in found:
        by_repo[snapshot.repo].add(snapshot.commit)
    for repo, commits in by_repo.items():
        if not repo.is_dir():
            unknown |= commits
            continue
        try:
            existing |= refs.present(repo, commits)
        except ProngError as error:
            debug(__name__, "cannot read what %s has: %s", repo, error)
            unknown |= commits
    return existing, unknown


def lineage(conversation: Conversation, forks: Mapping[SessionRef, Fork]) -> list[SessionRef]:
    """List the session and those it was forked from."""
    session = conversation.session
    session_refs = [session.ref, *([session.parent] if session.parent else [])]
    ref = session.ref
    while (fork := forks.get(ref)) is not None and fork.parent.session not in session_refs[2:]:
        ref = fork.parent.session
        session_refs.append(ref)
    return session_refs


def near(conversation: Conversation, forks: Mapping[SessionRef, Fork]) -> list[Path]:
    """List where the session and its ancestors ran, and the current folder."""
    names = [conversation.session.cwd, *conversation.session.cwds]
    names += [forks[ref].parent_workspace for ref in lineage(conversation, forks) if ref in forks]
    folders = [Path(folder) for folder in dict.fromkeys(names) if folder]
    with suppress(FileNotFoundError):  # the current folder was deleted
        folders.append(Path.cwd())
    return folders


def of_sessions(sessions: Iterable[Session], forks: Sequence[Fork]) -> Iterator[Path]:
    """Yield the folders of all sessions and of the sources of all forks."""
    for session in sessions:
        yield from (Path(folder) for folder in (session.cwd, *session.cwds) if folder)
    for fork in reversed(forks):
        if fork.parent_workspace:
            yield Path(fork.parent_workspace)


def of_agents(stores: Mapping[str, AgentStore]) -> list[Path]:
    """List the folders of agents' own files, such as plans and notes."""
    folders: list[Path] = []
    for name, store in stores.items():
        try:
            folders += store.roots
        except Exception as error:  # noqa: BLE001 -- a plug-in may raise anything
            debug(__name__, "the folders of %s are unknown: %s", name, error)
    return folders


def is_lost(folder: Path) -> bool:
    """Tell whether a folder, or the repository of this worktree, is gone."""
    return not os.path.isdir(folder) or _gone_entry(folder) is not None


def around(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield repositories near a lost one: it may have been renamed."""
    for folder in folders:
        if not is_lost(folder):
            continue
        for path in (folder, _gone_entry(folder)):
            if path is not None:
                above = next(parent for parent in path.parents if os.path.isdir(parent))
                candidates = islice(_folders(above, _DEPTH), _MOST)
                yield from (candidate for candidate in candidates if _is_repository(candidate))


def _folders(folder: Path, depth: int) -> Iterator[Path]:
    """Yield folders, nearer ones first; skip links, hidden ones and the content of repositories."""
    with suppress(OSError):
        with os.scandir(folder) as entries:
            inner = [
                Path(one.path)
                for one in sorted(entries, key=lambda one: one.name)
                if one.is_dir(follow_symlinks=False) and not one.name.startswith(".")
            ]
        yield from inner
        for one in inner if depth > 1 else ():
            if not _is_repository(one):
                yield from _folders(one, depth - 1)


def _gone_entry(folder: Path) -> Path | None:
    """Return the git folder that a worktree points to, if that is gone."""
    top = next((path for path in (folder, *folder.parents) if os.path.lexists(path / ".git")), None)
    if top is None or (top / ".git").is_dir():
        return None
    try:
        entry = entry_of(top)
    except ProngError:
        return None
    return None if entry.is_dir() else entry


def _repository(folder: Path) -> Path | None:
    common = common_of(folder)
    return Path(os.path.realpath(folder)) if common is None and _is_bare(folder) else common


def _is_repository(folder: Path) -> bool:
    return os.path.lexists(folder / ".git") or _is_bare(folder)


def _is_bare(folder: Path) -> bool:
    return os.path.isfile(folder / "HEAD") and os.path.isdir(folder / "objects")


def _may_have_any(common: Path) -> bool:
    """Return False if a repository never had snapshots. Does not run git: there may be many."""
    if (common / refs.REFS).is_dir() or (common / "reftable").is_dir():
        return True
    try:
        with open_regular(common / "packed-refs") as file:
            return refs.REFS.encode() in file.read()
    except OSError:
        return False


def _working_tree(common: Path, folder: Path) -> Path | None:
    """Find a working tree of a repository: that of the folder, the main one, or any other."""
    linked = (place for entry in entries_of(common) if (place := place_of(entry)))
    for place in (folder, common.parent, *linked):
        repository = Repository.find(place) if os.path.isdir(place) else None
        if repository is not None and os.path.realpath(repository.common_dir) == str(common):
            return repository.top
    return None
