"""Files of a working tree that differ from its commit."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

from prong.code import filtered, submodules
from prong.code.git import Git

_STATUS = ("status", "--porcelain=v2", "-z", "--untracked-files=all", submodules.LEFT_OUT)
_FIELDS = {b"1": 8, b"2": 9, b"u": 10, b"?": 1}
"""Spaces before the path in a line of `git status --porcelain=v2`."""
_SKIPPED = b"S"


def changed_files(git: Git) -> list[str]:
    """List changed and new files, except those that git is told to ignore."""
    names = _paths(git.run(*_STATUS))
    same = filtered.unchanged(git, os.fsencode(git.folder), names)
    names = [name for name in names if name not in same]
    links = [name for name in submodules.linked(git) if name not in names]
    names += submodules.dirty(git.folder, links, git.deadline)
    return [os.fsdecode(name).rstrip("/") for name in names]


@contextmanager
def looking_at_all(path: Path, entry: Path) -> Generator[Git]:
    """Yield git for a worktree that also checks hidden files: prong hides what the source hides.

    Hidden files are marked `assume-unchanged` or `skip-worktree`, so git reports no changes. The
    marks are removed in a copy of the index. `entry` is the folder of the index.
    """
    git = Git(path)
    # Files that a sparse checkout leaves out do not exist.
    hidden = [name for name in _hidden(git) if os.path.lexists(path / os.fsdecode(name))]
    if not hidden:
        yield git
        return
    with TemporaryDirectory(prefix="prong-") as folder:
        index = Path(folder) / "index"
        copyfile(entry / "index", index)
        git = Git(path, index=index)
        names = b"".join(name + b"\0" for name in hidden)
        for option in ("--no-skip-worktree", "--no-assume-unchanged"):
            git.run("update-index", "-z", option, "--stdin", stdin=names)
        yield git


def signature(path: Path) -> tuple[int, int, int] | None:
    """Return mode, size and time, which show a change without reading the file; None if missing."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_mode, status.st_size, status.st_mtime_ns


def _hidden(git: Git) -> list[bytes]:
    lines = git.run("ls-files", "-z", "-v").split(b"\0")[:-1]
    return [line[2:] for line in lines if line[:1] == _SKIPPED or line[:1].islower()]


def _paths(status: bytes) -> list[bytes]:
    paths: list[bytes] = []
    fields = iter(status.split(b"\0")[:-1])
    for field in fields:
        kind = field[:1]
        paths.append(field.split(b" ", _FIELDS.get(kind, 1))[-1])
        if kind == b"2":
            paths.append(next(fields))  # the old name of a renamed file
    return paths
