"""Which files of a working tree are not as its commit has them."""

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
    """What is not as the commit has it, new files as well; not what git does not look at."""
    names = _paths(git.run(*_STATUS))
    same = filtered.unchanged(git, os.fsencode(git.folder), names)
    names = [name for name in names if name not in same]
    links = [name for name in submodules.linked(git) if name not in names]
    names += submodules.dirty(git.folder, links, git.deadline)
    return [os.fsdecode(name).rstrip("/") for name in names]


@contextmanager
def looking_at_all(path: Path, entry: Path) -> Generator[Git]:
    """Git in a worktree that looks at hidden files, too: prong hides those the source hides.

    These are marked `assume-unchanged` or `skip-worktree`, and git takes them for unchanged. The
    marks are taken off in a copy of the index. `entry` is the folder that the index is in.
    """
    git = Git(path)
    # Not there is what a sparse checkout leaves out.
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
    """Mode, size and time, by which a change is seen without reading the file; None without one."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_mode, found.st_size, found.st_mtime_ns


def _hidden(git: Git) -> list[bytes]:
    lines = git.run("ls-files", "-z", "-v").split(b"\0")[:-1]
    return [line[2:] for line in lines if line[:1] == _SKIPPED or line[:1].islower()]


def _paths(status: bytes) -> list[bytes]:
    found: list[bytes] = []
    fields = iter(status.split(b"\0")[:-1])
    for field in fields:
        kind = field[:1]
        found.append(field.split(b" ", _FIELDS.get(kind, 1))[-1])
        if kind == b"2":
            found.append(next(fields))  # where it was renamed from
    return found
