"""What prong knows of a worktree that it made: kept in the worktree's entry in its repository.

There it ends with the worktree, and `git worktree move` does not lose it.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from prong.errors import NotFound
from prong.files.regular import read_regular

_FILE = "prong.json"


@dataclass(frozen=True)
class Given:
    """What a worktree had besides its commit when it was made from a snapshot."""

    commit: str
    """The snapshot that has all of it."""
    staged: str | None
    """The staged tree; None in a merge conflict."""
    files: Mapping[str, tuple[int, int, int] | None]
    """Mode, size and time of each; None where there was none."""


@dataclass(frozen=True)
class Worktree:
    """A linked worktree of somebody's repository, made by prong."""

    path: Path
    repo: Path
    """The working tree it was made from."""
    common: Path
    """The repository itself: the folder with the objects and the branches."""
    branch: str
    """The branch that was made for it. Another one may be checked out by now."""
    base: str | None
    """The commit that the branch began at; None where nothing was committed yet."""
    created: datetime
    snapshot: str | None = None
    """The ref of the snapshot that it was made from."""
    session: str | None = None
    """The session that it was made for, as in `claude:60309e1e`; None while that is not there."""
    nested: tuple[str, ...] = ()
    """Repositories inside it that are worktrees, too, in the order they were made."""
    given: Given | None = None
    """None when it was clean when it was made."""
    warnings: tuple[str, ...] = ()


def entry_of(path: Path) -> Path:
    """The folder in the repository that belongs to the worktree at `path`."""
    try:
        content = (path / ".git").read_bytes()
    except OSError:
        raise NotFound(f"{path} is not a worktree", path=str(path)) from None
    if not content.startswith(b"gitdir: "):
        raise NotFound(f"{path} is not a worktree", path=str(path))
    found = Path(os.fsdecode(content.removeprefix(b"gitdir: ").rstrip(b"\n")))
    return Path(os.path.normpath(path / found))


def place_of(entry: Path) -> Path | None:
    """Where the repository believes that the worktree of an entry is."""
    try:
        git = os.fsdecode((entry / "gitdir").read_bytes().rstrip(b"\n"))
    except OSError:
        return None
    # Newer versions of git can be told to write it relative to the entry.
    return Path(os.path.normpath(entry / git)).parent if git else None


def common_of(folder: Path) -> Path | None:
    """The repository that a folder is in: the folder with its objects. Git is not asked.

    None where there is none, or none that is easily found.
    """
    for above in (folder, *folder.parents):
        git = above / ".git"
        if git.is_dir():
            return Path(os.path.realpath(git))
        if git.is_file():
            return _common_behind(above)
    return None


def _common_behind(top: Path) -> Path | None:
    try:
        entry = entry_of(top)
        if not (entry / "commondir").is_file():  # a submodule has a folder of its own
            return Path(os.path.realpath(entry)) if entry.is_dir() else None
        shared = os.fsdecode((entry / "commondir").read_bytes().rstrip(b"\n"))
    except (OSError, NotFound):
        return None
    return Path(os.path.realpath(entry / shared))


def write(worktree: Worktree) -> None:
    given = worktree.given
    record = {
        "repo": str(worktree.repo),
        "common": str(worktree.common),
        "branch": worktree.branch,
        "base": worktree.base,
        "created": worktree.created.isoformat(),
        "snapshot": worktree.snapshot,
        "session": worktree.session,
        "nested": list(worktree.nested),
        "given": given and [given.commit, given.staged, dict(given.files)],
        "warnings": list(worktree.warnings),
    }
    file = entry_of(worktree.path) / _FILE
    new = file.with_suffix(".new")
    new.write_text(json.dumps(record), encoding="ascii")
    new.replace(file)


def read(path: Path) -> Worktree:
    """Raises `NotFound` when it is no worktree, or not one that prong made."""
    entry = entry_of(path)
    there = place_of(entry)
    # Somebody may have moved it by hand, and then git does not know it yet.
    known = there is not None and os.path.lexists(there / ".git")
    if there is not None and known and os.path.realpath(there) != os.path.realpath(path):
        raise NotFound(f"{path} is a copy of the worktree {there}", path=str(path))
    return read_entry(entry, path)


def read_entry(entry: Path, path: Path) -> Worktree:
    """The same of a worktree whose folder may be gone."""
    try:
        decoded: Any = json.loads(read_regular(entry / _FILE))
        record = cast(dict[str, Any], decoded)
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
            given=_given(record["given"]),
            warnings=tuple(record["warnings"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise NotFound(f"prong did not make the worktree {path}", path=str(path)) from None


def _given(record: list[Any] | None) -> Given | None:
    if record is None:
        return None
    commit, staged, files = record
    return Given(commit, staged, {name: found and (*found,) for name, found in files.items()})
