"""Whether work would be lost with a worktree, and how large it is."""

import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from prong.errors import NotFound
from prong.vcs import worktree_record
from prong.vcs.git import Git
from prong.vcs.worktree_record import Given, Worktree
from prong.vcs.worktree_refs import own_commits

_FIELDS = {b"1": 8, b"2": 9, b"u": 10, b"?": 1}
"""Spaces before the path in a line of `git status --porcelain=v2`."""
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
"""Files in the entry of a worktree that say what git is in the middle of."""


def given(path: Path, staged: str | None, names: Collection[bytes]) -> Given:
    """What a new worktree has besides its commit. As long as it is so, the snapshot has it, too."""
    return Given(staged, {name: _signature(path / name) for name in map(os.fsdecode, names)})


@dataclass(frozen=True)
class Work:
    """What somebody did in a worktree since it was made."""

    files: tuple[str, ...] = ()
    """Files that are neither as they were given nor committed; those of nested ones as well."""
    commits: int = 0
    """Commits that are on no other branch, on no remote one and under no tag."""
    loose: bool = False
    """Whether commits are on no branch at all: these would be lost."""
    under_way: str | None = None
    """What git is in the middle of: a merge, a rebase."""

    @property
    def would_be_lost(self) -> bool:
        return bool(self.files) or self.loose or self.under_way is not None


def work_in(worktree: Worktree) -> Work:
    """All that was done in it, and in the worktrees inside it."""
    files = _changed_since(worktree)
    loose = _has_loose_commits(worktree.path)
    commits = _own_commits(worktree)
    under_way = _under_way(worktree)
    for name in worktree.nested:
        try:
            inner = worktree_record.read(worktree.path / name)
        except NotFound:
            if os.path.lexists(worktree.path / name / ".git"):
                files.append(name)  # something else is there by now
            continue
        files += [f"{name}/{file}" for file in _changed_since(inner)]
        loose = loose or _has_loose_commits(inner.path)
        commits += _own_commits(inner)
        under_way = under_way or _under_way(inner)
    return Work(tuple(files), commits, loose, under_way)


def is_dirty(worktree: Worktree) -> bool:
    """Whether it has work that is in no commit, in no snapshot and on no branch."""
    return work_in(worktree).would_be_lost


def changed_files(path: Path) -> list[str]:
    """What in a working tree is not as its commit has it, new files as well."""
    words = ("status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=none")
    return [os.fsdecode(name).rstrip("/") for name in _paths(Git(path).run(*words))]


def _changed_since(worktree: Worktree) -> list[str]:
    """What is not committed, and not as it was given."""
    names = [name for name in changed_files(worktree.path) if name not in worktree.nested]
    given = worktree.given
    if not names or given is None or given.staged is None:
        return names
    new = [
        name
        for name in names
        if name not in given.files or _signature(worktree.path / name) != given.files[name]
    ]
    if new:
        return new
    # The files are those that were given; what is staged of them may be something else.
    words = ("diff-index", "--cached", "-z", "--name-only", "--no-renames")
    staged = Git(worktree.path).run(*words, "--ita-invisible-in-index", given.staged)
    return [os.fsdecode(name) for name in staged.split(b"\0")[:-1]]


def _paths(status: bytes) -> list[bytes]:
    found: list[bytes] = []
    fields = iter(status.split(b"\0")[:-1])
    for field in fields:
        kind = field[:1]
        found.append(field.split(b" ", _FIELDS.get(kind, 1))[-1])
        if kind == b"2":
            found.append(next(fields))  # where it was renamed from
    return found


def _signature(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_mode, found.st_size, found.st_mtime_ns


def _under_way(worktree: Worktree) -> str | None:
    entry = worktree_record.entry_of(worktree.path)
    return next((what for name, what in UNDER_WAY.items() if (entry / name).exists()), None)


def _own_commits(worktree: Worktree) -> int:
    """Of its branch, and of the one that is checked out instead."""
    git = Git(worktree.path)
    current = git.ask("symbolic-ref", "--quiet", "--short", "HEAD").output
    branches = {worktree.branch, os.fsdecode(current.removesuffix(b"\n"))} - {""}
    return own_commits(git, ["HEAD", f"refs/heads/{worktree.branch}"], branches, worktree.base)


def _has_loose_commits(path: Path) -> bool:
    """Commits made on no branch: nothing else leads to them."""
    git = Git(path)
    if git.ask("symbolic-ref", "--quiet", "HEAD").ok:
        return False
    return not git.run("for-each-ref", "--count=1", "--contains=HEAD", "--format=%(refname)")


def size(path: Path, until: float | None = None) -> int | None:
    """Bytes on the disk below a folder; a link counts as a link.

    None when it is not counted by then, on the monotonic clock.
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
            continue  # gone meanwhile, or not ours to read
    return total
