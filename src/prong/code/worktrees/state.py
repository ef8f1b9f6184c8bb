"""The work in a worktree that would be lost with it, and its size on disk."""

import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from prong.code.git import Git
from prong.code.worktrees import record
from prong.code.worktrees.changes import changed_files, looking_at_all, signature
from prong.code.worktrees.kept import in_snapshot, staged_since
from prong.code.worktrees.nested import repositories_with_work
from prong.code.worktrees.record import Given, Worktree, entry_of
from prong.code.worktrees.refs import has_loose_commits, has_snapshot, own_commits
from prong.errors import NotFound
from prong.model.code import Snapshot

_BLOCK = 512
UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or a revert",
    "BISECT_LOG": "a bisection",
}
"""Files in the entry of a worktree that show which git operation is in progress."""


def given(path: Path, snapshot: Snapshot, names: Collection[bytes]) -> Given:
    """Record what a new worktree has besides its commit, which its snapshot contains too."""
    files = {name: signature(path / name) for name in map(os.fsdecode, names)}
    return Given(snapshot.commit, snapshot.staged_tree, files)


@dataclass(frozen=True)
class WorktreeWork:
    """What somebody did in a worktree since it was created."""

    files: tuple[str, ...] = ()
    """Files whose state is in no commit and no snapshot, including those in nested worktrees."""
    in_snapshot: tuple[str, ...] = ()
    """Files that were changed and not committed, but are in a snapshot of the session."""
    commits: int = 0
    """Commits that are on no other branch, remote branch or tag."""
    loose: bool = False
    """Whether some commits are on no branch at all and would be lost."""
    under_way: str | None = None
    """The git operation in progress, such as a merge or rebase."""

    @property
    def would_be_lost(self) -> bool:
        return bool(self.files) or self.loose or self.under_way is not None


def work_in(worktree: Worktree) -> WorktreeWork:
    """Collect the work in a worktree and in those nested in it."""
    files, kept = _changed_since(worktree, worktree.session)
    files += repositories_with_work(worktree)
    loose = has_loose_commits(Git(worktree.path))
    commits = _own_commits(worktree)
    under_way = _under_way(worktree)
    for name in worktree.nested:
        try:
            inner = record.read(worktree.path / name)
        except NotFound:
            if os.path.lexists(worktree.path / name / ".git"):
                files.append(name)  # replaced by something else
            continue
        changed, saved = _changed_since(inner, worktree.session)
        files += [f"{name}/{file}" for file in (*changed, *repositories_with_work(inner))]
        kept += [f"{name}/{file}" for file in saved]
        loose = loose or has_loose_commits(Git(inner.path))
        commits += _own_commits(inner)
        under_way = under_way or _under_way(inner)
    return WorktreeWork(tuple(files), tuple(kept), commits, loose, under_way)


def is_locked(worktree: Worktree) -> bool:
    """Tell whether the worktree is locked by `git worktree lock`."""
    return (entry_of(worktree.path) / "locked").exists()


def _changed_since(worktree: Worktree, session: str | None) -> tuple[list[str], list[str]]:
    """Return uncommitted changes since creation: those only here, and those in a snapshot.

    The snapshot is the newest one of the session.
    """
    with looking_at_all(worktree.path, entry_of(worktree.path)) as git:
        names = [name for name in changed_files(git) if name not in worktree.nested]
    new = _not_as_given(worktree, names)
    kept = in_snapshot(worktree.path, session, new)
    return [name for name in new if name not in kept], [name for name in new if name in kept]


def _not_as_given(worktree: Worktree, names: list[str]) -> list[str]:
    given, git = worktree.given, Git(worktree.path)
    if not names or given is None or given.staged is None or not has_snapshot(git, given.commit):
        return names
    # The file may be unchanged while something else is staged.
    staged = staged_since(git, given.staged)
    return [
        name
        for name in names
        if name in staged
        or name not in given.files
        or signature(worktree.path / name) != given.files[name]
    ]


def _under_way(worktree: Worktree) -> str | None:
    entry = entry_of(worktree.path)
    return next((label for name, label in UNDER_WAY.items() if (entry / name).exists()), None)


def _own_commits(worktree: Worktree) -> int:
    """Count the commits of its branch, and of the one checked out instead."""
    git = Git(worktree.path)
    current = git.ask("symbolic-ref", "--quiet", "--short", "HEAD").output
    branches = {worktree.branch, os.fsdecode(current.removesuffix(b"\n"))} - {""}
    return own_commits(git, ["HEAD", f"refs/heads/{worktree.branch}"], branches, worktree.base)


def size(path: Path, until: float | None = None) -> int | None:
    """Return the disk usage of a folder in bytes, without following links.

    None if it takes longer than `until`, on the monotonic clock.
    """
    total = 0
    folders = [os.fspath(path)]
    while folders:
        if until is not None and time.monotonic() > until:
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
