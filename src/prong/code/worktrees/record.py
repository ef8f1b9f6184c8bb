"""The record of a worktree that prong created, stored in the worktree's entry in its repository.

There it is deleted with the worktree, and `git worktree move` does not lose it.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from prong.errors import NotFound
from prong.files import atomic
from prong.files.regular import read_regular

_FILE = "prong.json"


@dataclass(frozen=True)
class Given:
    """What a worktree contained besides its commit when it was created from a snapshot."""

    commit: str
    """The snapshot that contains all of it."""
    staged: str | None
    """The staged tree; None during a merge conflict."""
    files: Mapping[str, tuple[int, int, int] | None]
    """Mode, size and time of each; None if it did not exist."""


@dataclass(frozen=True)
class Worktree:
    """A linked worktree of a user's repository, created by prong."""

    path: Path
    repo: Path
    """The working tree it was created from."""
    common: Path
    """The repository: the folder with objects and branches."""
    branch: str
    """The branch created for it. Another one may be checked out now."""
    base: str | None
    """The commit that the branch started at; None before the first commit."""
    created: datetime
    snapshot: str | None = None
    """The ref of the snapshot it was created from."""
    session: str | None = None
    """The session it was created for, as in `claude:60309e1e`; None until that exists."""
    nested: tuple[str, ...] = ()
    """Nested repositories that are worktrees too, in order of creation."""
    given: Given | None = None
    """None if it was created from a commit instead of a snapshot."""
    warnings: tuple[str, ...] = ()


def entry_of(path: Path) -> Path:
    """Return the folder in the repository that belongs to the worktree at `path`."""
    try:
        content = read_regular(path / ".git")
    except OSError:
        raise NotFound(f"{path} is not a worktree", path=str(path)) from None
    if not content.startswith(b"gitdir: "):
        raise NotFound(f"{path} is not a worktree", path=str(path))
    git_dir = Path(os.fsdecode(content.removeprefix(b"gitdir: ").rstrip(b"\n")))
    return Path(os.path.normpath(path / git_dir))


def place_of(entry: Path) -> Path | None:
    """Return where the repository believes the worktree of an entry is."""
    try:
        git = os.fsdecode(read_regular(entry / "gitdir").rstrip(b"\n"))
    except OSError:
        return None
    # Newer versions of git can write it relative to the entry.
    return Path(os.path.normpath(entry / git)).parent if git else None


def common_of(folder: Path) -> Path | None:
    """Find the folder with the objects of a repository without git; None if that is not easy."""
    for above in (folder, *folder.parents):
        git = above / ".git"
        if os.path.isdir(git):
            return Path(os.path.realpath(git))
        if os.path.isfile(git):
            return _common_behind(above)
    return None


def _common_behind(top: Path) -> Path | None:
    try:
        entry = entry_of(top)
        if not (entry / "commondir").is_file():  # a submodule has its own folder
            return Path(os.path.realpath(entry)) if entry.is_dir() else None
        shared = os.fsdecode(read_regular(entry / "commondir").rstrip(b"\n"))
    except (OSError, NotFound):
        return None
    return Path(os.path.realpath(entry / shared))


def file_state(path: Path) -> tuple[int, int, int] | None:
    """Return mode, size and time, which show a change without reading the file; None if missing."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_mode, status.st_size, status.st_mtime_ns


def write(worktree: Worktree) -> None:
    given = worktree.given
    record = {
        **vars(worktree),
        "repo": str(worktree.repo),
        "common": str(worktree.common),
        "created": worktree.created.isoformat(),
        "given": given and [given.commit, given.staged, dict(given.files)],
    }
    del record["path"]  # git knows it, also after a move
    content = json.dumps(record).encode()
    atomic.write(entry_of(worktree.path) / _FILE, content, mode=0o666, sync=False)


def read(path: Path) -> Worktree:
    """Read the record; raise `NotFound` if this is no worktree created by prong."""
    entry = entry_of(path)
    place = place_of(entry)
    # After a manual move, git does not know the new path yet.
    is_place_used = place is not None and os.path.lexists(place / ".git")
    if place is not None and is_place_used and os.path.realpath(place) != os.path.realpath(path):
        raise NotFound(f"{path} is a copy of the worktree {place}", path=str(path))
    return read_entry(entry, path)


def read_entry(entry: Path, path: Path) -> Worktree:
    """Read the record of a worktree whose folder may be gone."""
    try:
        record: Any = json.loads(read_regular(entry / _FILE))
        given: Given | None = None
        if record["given"] is not None:
            commit, staged, files = record["given"]
            states = {name: state and (*state,) for name, state in files.items()}
            given = Given(commit, staged, states)
        return Worktree(
            path,
            repo=Path(record["repo"]),
            common=Path(record["common"]),
            branch=record["branch"],
            base=record["base"],
            created=datetime.fromisoformat(record["created"]),
            snapshot=record["snapshot"],
            session=record.get("session"),
            nested=tuple(record["nested"]),
            given=given,
            warnings=tuple(record["warnings"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise NotFound(f"prong did not make the worktree {path}", path=str(path)) from None
