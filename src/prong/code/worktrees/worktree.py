"""Create worktrees from snapshots or commits, list them, and remove them.

Only the new worktree and its branch are added to the user's repository. If a step fails, all of it
is undone; if the process is killed, `sweep` does that.
"""

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from prong import paths
from prong.code.git import Git
from prong.code.ignored import IgnoredFiles, bring
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
from prong.code.worktrees.make import check_out, give_back
from prong.code.worktrees.record import Worktree
from prong.errors import Busy, Dirty, External, NotFound, UsageError
from prong.files.journal import step
from prong.model.code import Snapshot

_DEPTH = 3
"""How many levels below the managed root are searched for worktrees."""
_LONGEST = 200
"""Bytes. The name of a folder may have 255, and a suffix follows."""


def create(
    snapshot: Snapshot,
    path: Path,
    branch: str,
    *,
    root: Path | None = None,
    ignored: IgnoredFiles | None = None,
    undo: Undo | None = None,
) -> Worktree:
    """Create a worktree from a snapshot: files, index and head as they were.

    `path`, in the managed root, and the branch must not exist yet. Without any commits, the branch
    has none either. With an `undo` of the caller, all is undone unless the caller keeps it.
    """
    with _undoing(undo, root) as own:
        return _finish(own, give_back(own, snapshot, path, branch), ignored)


def create_at(
    repo: Path,
    commitish: str,
    path: Path,
    branch: str,
    *,
    root: Path | None = None,
    ignored: IgnoredFiles | None = None,
    undo: Undo | None = None,
) -> Worktree:
    """Create a worktree of a commit, with the user's filters, like `git worktree add`."""
    commit = commit_of(repo, commitish)
    with _undoing(undo, root) as own:
        return _finish(own, check_out(own, repo, path, branch, commit), ignored)


@contextmanager
def _undoing(given: Undo | None, root: Path | None) -> Generator[Undo]:
    if given is not None:
        yield given
        return
    with Undo(root or paths.worktrees_dir()) as undo:
        yield undo
        undo.keep()


def belongs_to(worktree: Worktree, session: str) -> None:
    """Record which session a worktree was created for."""
    record.write(replace(worktree, session=session))


def place(root: Path, repo: Path, name: str) -> Path:
    """Return the path of a worktree of this repository in the managed root.

    One created from another worktree goes beside that, whose own name may say nothing.
    """
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


def remove(worktree: Worktree, *, root: Path | None = None, force: bool = False) -> str | None:
    """Delete a worktree and its entry in the repository, and the branch if nothing is on it.

    Returns the name of the branch if it stays. Raises `Dirty` if work would be lost.
    """
    top = root or paths.worktrees_dir()
    path = inside(top, worktree.path)
    if path.is_symlink():
        raise UsageError(f"{path} is a link", path=str(path))
    if path in under_way(top):
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
    with Undo(top) as undo:
        return _removed(undo, path, [*inner, recorded], force=force)


def forget_missing(worktree: Worktree, *, root: Path | None = None) -> str | None:
    """Delete the entry of a worktree whose folder is gone. Returns its branch if that stays."""
    top = root or paths.worktrees_dir()
    path = inside(top, worktree.path)
    if os.path.lexists(path):
        raise UsageError(f"{path} is not gone", path=str(path))
    with Undo(top) as undo:
        inner = [
            nested
            for name in worktree.nested
            for nested in missing(top, [worktree.repo / name])
            if nested.path == path / name
        ]
        return _removed(undo, path, [*inner, worktree], force=False)


def _removed(undo: Undo, path: Path, worktrees: list[Worktree], *, force: bool) -> str | None:
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
    undo.will(**entry)
    delete(undo.root, path, undo.token)
    return forget_removed(undo.root, undo.token, entry)


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


def _finish(undo: Undo, worktree: Worktree, ignored: IgnoredFiles | None) -> Worktree:
    if worktree.repo.is_dir():
        step("copy", worktree.path)
        warnings = bring(worktree.repo, worktree.path, ignored or IgnoredFiles())
        worktree = replace(worktree, warnings=worktree.warnings + warnings)
    step("write", worktree.path)
    record.write(worktree)
    undo.whole(worktree.path)
    return worktree


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


def commit_of(repo: Path, commitish: str) -> str:
    """Resolve a name to a commit, or raise `NotFound`."""
    command = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commitish}^{{commit}}")
    answer = Git(repo).ask(*command)
    if not answer.ok:
        raise NotFound(f"{repo} has no commit {commitish}", repo=str(repo), commit=commitish)
    return os.fsdecode(answer.output.removesuffix(b"\n"))
