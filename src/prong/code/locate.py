"""Where snapshots are now: worktrees are removed, repositories are moved, refs are deleted.

The ref of a snapshot names its session, and all worktrees of a repository share their refs. So any
folder that leads to the repository will do, whatever the one is called that the session ran in.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from prong.agents.base import AgentStore
from prong.code.git import Git
from prong.code.repository import Repository
from prong.code.snapshots import message, refs
from prong.code.worktrees.journal import entries_of
from prong.code.worktrees.record import common_of, entry_of, place_of
from prong.errors import ProngError, UsageError
from prong.log import debug
from prong.model.code import Snapshot, TurnKey
from prong.model.forks import Fork
from prong.model.sessions import Conversation, Session, SessionRef

_DEPTH = 2
"""How deep below the folder that a repository was in it is looked for."""
_MOST = 1000
"""So many folders are looked at there."""


class SnapshotSearch:
    """Looks for the snapshots of some sessions in one repository after the other, in each once."""

    def __init__(self, sessions: Iterable[SessionRef]) -> None:
        self._prefixes: list[str] = []
        for session in dict.fromkeys(sessions):
            with suppress(UsageError):  # no snapshot can be called after it
                key = TurnKey(session.agent, session.id, TurnKey.BASELINE)
                self._prefixes.append(message.session_refs(key))
        self.looked: list[Path] = []
        """The repositories that were looked at."""
        self.found: list[Snapshot] = []

    def everywhere(self, folders: Iterable[Path]) -> None:
        """Look in all repositories that these folders lead to."""
        for folder in folders:
            self.found += self._there(folder)

    def somewhere(self, folders: Iterable[Path]) -> None:
        """Look until something is found, if nothing is yet."""
        for folder in () if self.found else folders:
            if self.found:
                return
            self.found += self._there(folder)

    def _there(self, folder: Path) -> list[Snapshot]:
        common = _repository(folder)
        if common is None or common in self.looked:
            return []
        self.looked.append(common)
        if not _may_have_any(common):
            return []
        try:
            git = Git(common)
            found = [
                snapshot
                for prefix in self._prefixes
                for snapshot in refs.read(git, refs.ask(git, prefix).answer(), prefix, common)
                if snapshot.ref == message.ref_of(snapshot.key)
            ]
            top = _working_tree(common, folder) if found else None
        except ProngError as error:
            debug(__name__, "cannot read what %s has: %s", common, error)
            return []
        return [snapshot._replace(repo=top) for snapshot in found] if top else []


def present(found: Iterable[Snapshot]) -> tuple[set[str], set[str]]:
    """Which commits are where they were taken, and of which that cannot be told: no disk, no git.

    The others were deleted from there.
    """
    there: set[str] = set()
    unknown: set[str] = set()
    wanted: dict[Path, set[str]] = {}
    for snapshot in found:
        wanted.setdefault(snapshot.repo, set()).add(snapshot.commit)
    for repo, commits in wanted.items():
        if not repo.is_dir():
            unknown |= commits
            continue
        try:
            there |= refs.present(repo, commits)
        except ProngError as error:
            debug(__name__, "cannot read what %s has: %s", repo, error)
            unknown |= commits
    return there, unknown


def lineage(conversation: Conversation, forks: Mapping[SessionRef, Fork]) -> list[SessionRef]:
    """The session, and those that it has turns of."""
    session = conversation.session
    found = [session.ref, *([session.parent] if session.parent else [])]
    ref = session.ref
    while (fork := forks.get(ref)) is not None and fork.parent.session not in found[2:]:
        ref = fork.parent.session
        found.append(ref)
    return found


def near(conversation: Conversation, forks: Mapping[SessionRef, Fork]) -> list[Path]:
    """Where it ran, where those ran that it was forked from, and where the person is now."""
    session = conversation.session
    told = [session.cwd, *session.cwds]
    told += [
        fork.parent_workspace
        for ref in lineage(conversation, forks)
        if (fork := forks.get(ref)) is not None
    ]
    found = [Path(folder) for folder in dict.fromkeys(told) if folder]
    with suppress(FileNotFoundError):  # deleted under our feet
        found.append(Path.cwd())
    return found


def of_sessions(sessions: Iterable[Session], forks: Sequence[Fork]) -> Iterator[Path]:
    """Where all sessions ran, and all forks were made from."""
    for session in sessions:
        yield from (Path(folder) for folder in (session.cwd, *session.cwds) if folder)
    for fork in reversed(forks):
        if fork.parent_workspace:
            yield Path(fork.parent_workspace)


def of_agents(stores: Mapping[str, AgentStore]) -> list[Path]:
    """Where agents keep their own files, such as plans and notes."""
    folders: list[Path] = []
    for name, store in stores.items():
        try:
            folders += store.roots
        except Exception as error:  # noqa: BLE001 -- a plug-in may raise anything
            debug(__name__, "the folders of %s are unknown: %s", name, error)
    return folders


def is_lost(folder: Path) -> bool:
    """Whether a folder is gone, or is a worktree whose repository is."""
    return not folder.is_dir() or _gone_entry(folder) is not None


def around(folders: Iterable[Path]) -> Iterator[Path]:
    """Repositories that are, by another name perhaps, near where a lost one was."""
    for folder in folders:
        if not is_lost(folder):
            continue
        for place in (folder, _gone_entry(folder)):
            if place is not None:
                above = next(parent for parent in place.parents if parent.is_dir())
                yield from _repositories_in(above)


def _repositories_in(folder: Path) -> Iterator[Path]:
    looked = islice(_folders(folder, _DEPTH), _MOST)
    return (one for one in looked if os.path.lexists(one / ".git") or _is_bare(one))


def _folders(folder: Path, depth: int) -> Iterator[Path]:
    """The nearer ones first; links and hidden ones are left out, and what is in a repository."""
    with suppress(OSError):
        with os.scandir(folder) as entries:
            inner = [
                Path(one.path)
                for one in sorted(entries, key=lambda one: one.name)
                if one.is_dir(follow_symlinks=False) and not one.name.startswith(".")
            ]
        yield from inner
        for one in inner if depth > 1 else ():
            if not os.path.lexists(one / ".git") and not _is_bare(one):
                yield from _folders(one, depth - 1)


def _gone_entry(folder: Path) -> Path | None:
    """What a worktree names as its own in a repository that is not there any more."""
    top = next((one for one in (folder, *folder.parents) if os.path.lexists(one / ".git")), None)
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


def _is_bare(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir()


def _may_have_any(common: Path) -> bool:
    """False where no snapshot was ever taken. Git is not asked: there may be many repositories."""
    if (common / message.REFS).is_dir() or (common / "reftable").is_dir():
        return True
    try:
        return message.REFS.encode() in (common / "packed-refs").read_bytes()
    except OSError:
        return False


def _working_tree(common: Path, folder: Path) -> Path | None:
    """One of the repository's: that of the folder, else its main one, else any."""
    linked = (place for entry in entries_of(common) if (place := place_of(entry)))
    for place in (folder, common.parent, *linked):
        found = Repository.find(place) if place.is_dir() else None
        if found is not None and os.path.realpath(found.common_dir) == str(common):
            return found.top
    return None
