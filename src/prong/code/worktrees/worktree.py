"""Find worktrees in the managed root, and remove them.

If a removal fails, all of it is undone; if the process is killed, `sweep` does that.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from prong.code.git import Git
from prong.code.worktrees import record, refs, work
from prong.code.worktrees.journal import (
    PRIVATE,
    Undo,
    delete,
    entries_of,
    forget_removed,
    inside,
    under_way,
)
from prong.code.worktrees.record import Worktree
from prong.errors import Busy, Dirty, External, NotFound, UsageError

_DEPTH = 3
"""How many levels below the managed root are searched for worktrees."""
_LONGEST = 200
"""Bytes. The name of a folder may have 255, and a suffix follows."""


def belongs_to(worktree: Worktree, session: str) -> None:
    """Record which session a worktree was created for."""
    record.write(replace(worktree, session=session))


def place(root: Path, repo: Path, name: str) -> Path:
    """Return the path of a worktree in the managed root, beside others of the same repository."""
    import hashlib

    if (repo / ".git").is_file():
        common = record.common_of(repo)
        repo = common.parent if common is not None and common.name == ".git" else repo
    digest = hashlib.sha256(os.fsencode(os.path.realpath(repo))).hexdigest()[:6]
    title = os.fsencode(repo.name or "root")[:_LONGEST].decode(errors="ignore")
    return root / f"{title}-{digest}" / name


def listed(root: Path) -> list[Worktree]:
    """List the worktrees in the managed root, oldest first."""
    worktrees: list[Worktree] = []
    for path in _worktree_paths(root, _DEPTH):
        with suppress(NotFound):
            worktrees.append(record.read(path))
    return sorted(worktrees, key=lambda worktree: worktree.created)


def missing(root: Path, folders: Iterable[Path]) -> list[Worktree]:
    """List worktrees of the managed root that repositories of `folders` know, but that are gone."""
    if not (root / PRIVATE).is_dir():
        return []  # perhaps a disk that is not mounted, so nothing is known
    entries = {entry for path in _worktree_paths(root, _DEPTH) if (entry := _entry(path))}
    worktrees: list[Worktree] = []
    commons = {common for folder in folders if (common := record.common_of(folder))}
    for entry in [entry for common in sorted(commons) for entry in entries_of(common)]:
        path = record.place_of(entry)
        # A worktree that was moved by hand is not missing.
        if path is None or os.path.lexists(path) or os.path.realpath(entry) in entries:
            continue
        with suppress(NotFound, UsageError):
            worktrees.append(record.read_entry(entry, inside(root, path)))
    return sorted(worktrees, key=lambda worktree: worktree.created)


def strays(root: Path) -> list[Path]:
    """List worktrees in the managed root whose repository is gone or was moved."""
    return [
        path
        for path in _worktree_paths(root, _DEPTH)
        if (entry := _entry(path)) is not None and not Path(entry).is_dir()
    ]


def remove(root: Path, worktree: Worktree, *, force: bool = False) -> str | None:
    """Delete a worktree and its entry in the repository, and the branch if nothing is on it.

    Returns the name of the branch if it stays. Raises `Dirty` if work would be lost.
    """
    path = inside(root, worktree.path)
    if path.is_symlink():
        raise UsageError(f"{path} is a link", path=str(path))
    if path in under_way(root):
        raise Busy(f"{path} is being created or removed", hint="prong doctor --fix", path=str(path))
    # The record on disk counts, not the argument.
    recorded = record.read(path)
    if not force and work.is_locked(recorded):
        raise Dirty(f"{path} is locked", hint=f"git worktree unlock {path}", path=str(path))
    if not force and work.work_in(recorded).would_be_lost:
        raise Dirty(
            f"{path} has changes that exist nowhere else",
            hint="commit them, or use --force",
            path=str(path),
        )
    inner: list[Worktree] = []
    for name in recorded.nested:
        with suppress(NotFound):  # it was removed or replaced
            inner.append(record.read(path / name))
    return _removed(root, path, [*inner, recorded], force=force)


def forget_missing(root: Path, worktree: Worktree) -> str | None:
    """Delete the entry of a worktree whose folder is gone. Returns its branch if that stays."""
    path = inside(root, worktree.path)
    if os.path.lexists(path):
        raise UsageError(f"{path} is not gone", path=str(path))
    inner = [
        nested
        for name in worktree.nested
        for nested in missing(root, [worktree.repo / name])
        if nested.path == path / name
    ]
    return _removed(root, path, [*inner, worktree], force=False)


def _removed(root: Path, path: Path, worktrees: list[Worktree], *, force: bool) -> str | None:
    """Remove worktrees, the outermost of which is the last."""
    for part in worktrees:
        _check_repository(part.common)
    snapshot, common = worktrees[-1].snapshot, worktrees[-1].common
    if snapshot is None or not refs.is_for_a_worktree(snapshot) or not common.is_dir():
        snapshot = None
    elif not force and not refs.is_kept_elsewhere(common, snapshot):
        snapshot = None  # it stays as the only copy of what was not committed in the source
    entry = {
        "removing": str(path),
        "parts": [(str(part.common), str(part.path), part.branch, part.base) for part in worktrees],
        "snapshot": snapshot,
    }
    with Undo(root) as undo:
        undo.will(**entry)
        delete(root, path, undo.token)
        return forget_removed(root, undo.token, entry)


def _check_repository(common: Path) -> None:
    """Check that git can open the repository, which later has to forget the worktree."""
    if not common.is_dir():
        return
    answer = Git(common).ask("rev-parse", "--absolute-git-dir")
    found = os.fsdecode(answer.output.removesuffix(b"\n"))
    # Git skips a broken repository and finds one further up.
    if not answer.ok or os.path.realpath(found) != os.path.realpath(common):
        raise External(
            f"git cannot open the repository {common}",
            hint=f"git -C {common} rev-parse",
            stderr=answer.complaint,
        )


def _worktree_paths(folder: Path, depth: int) -> Iterator[Path]:
    """Yield folders that contain a `.git`, without searching in those or behind links."""
    try:
        with os.scandir(folder) as entries:
            inner = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for path in sorted(inner):
        if (path / ".git").exists():
            yield path
        elif depth > 1 and path.name != PRIVATE:
            yield from _worktree_paths(path, depth - 1)


def _entry(path: Path) -> str | None:
    try:
        return os.path.realpath(record.entry_of(path))
    except NotFound:
        return None  # a separate repository
