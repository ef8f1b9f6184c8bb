"""Whether work would be lost with a worktree, and how large it is."""

import os
from collections.abc import Collection
from pathlib import Path

from prong.errors import NotFound
from prong.vcs import worktree_record
from prong.vcs.git import Git
from prong.vcs.worktree_record import Given, Worktree

_FIELDS = {b"1": 8, b"2": 9, b"u": 10, b"?": 1}
"""Spaces before the path in a line of `git status --porcelain=v2`."""
_BLOCK = 512


def given(path: Path, staged: str | None, names: Collection[bytes]) -> Given:
    """What a new worktree has besides its commit. As long as it is so, the snapshot has it, too."""
    return Given(staged, {name: _signature(path / name) for name in map(os.fsdecode, names)})


def is_dirty(worktree: Worktree) -> bool:
    """Whether it has work that is in no commit, in no snapshot and on no branch."""
    if _has_loose_commits(worktree.path) or not _is_as_given(worktree):
        return True
    for name in worktree.nested:
        try:
            inner = worktree_record.read(worktree.path / name)
        except NotFound:
            if os.path.lexists(worktree.path / name / ".git"):
                return True  # something else is there by now
            continue
        if is_dirty(inner):
            return True
    return False


def changed_files(path: Path) -> list[str]:
    """What in a working tree is not as its commit has it, new files as well."""
    words = ("status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=none")
    return [os.fsdecode(name).rstrip("/") for name in _paths(Git(path).run(*words))]


def _is_as_given(worktree: Worktree) -> bool:
    git = Git(worktree.path)
    names = {*changed_files(worktree.path)} - {*worktree.nested}
    if not names:
        return True
    given = worktree.given
    if given is None or given.staged is None or not names <= given.files.keys():
        return False
    if any(_signature(worktree.path / name) != given.files[name] for name in names):
        return False
    return git.ask("diff-index", "--cached", "--quiet", "--ita-invisible-in-index", given.staged).ok


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


def _has_loose_commits(path: Path) -> bool:
    """Commits made on no branch: nothing else leads to them."""
    git = Git(path)
    if git.ask("symbolic-ref", "--quiet", "HEAD").ok:
        return False
    return not git.run("for-each-ref", "--count=1", "--contains=HEAD", "--format=%(refname)")


def size(path: Path) -> int:
    """Bytes on the disk below a folder; a link counts as a link."""
    total = 0
    folders = [os.fspath(path)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_blocks * _BLOCK
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:
            continue  # gone meanwhile, or not ours to read
    return total
