"""Uncommitted changes in nested repositories, found without running their programs.

Git would inspect each of them itself, with its filters and file system monitor. So git is told to
skip them, and each is inspected here under the same restrictions as the outer one.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from prong.code.git import Deadline, Git

LINKED = b"160000"
"""The mode of a submodule."""
LEFT_OUT = "--ignore-submodules=dirty"
"""Git compares the checked-out commit and starts nothing in the submodule."""
_STATUS = ("status", "--porcelain=v2", "-z", "--untracked-files=normal", LEFT_OUT)


def inner_git(path: Path, deadline: Deadline | None = None) -> Git:
    """Return git for exactly this repository: it searches no parent folder if this is none."""
    return Git(path, f"--git-dir={path / '.git'}", f"--work-tree={path}", deadline=deadline)


def linked(git: Git) -> list[bytes]:
    """List the submodules in the index."""
    lines = git.run("ls-files", "-z", "-s").split(b"\0")[:-1]
    return [line.partition(b"\t")[2] for line in lines if line.startswith(LINKED)]


def dirty(top: Path, paths: Iterable[bytes], deadline: Deadline | None = None) -> list[bytes]:
    """Return the paths that have uncommitted changes or that git cannot inspect."""
    return [path for path in paths if _is_dirty(top / os.fsdecode(path), deadline)]


def _is_dirty(path: Path, deadline: Deadline | None) -> bool:
    if not os.path.lexists(path / ".git"):
        return False  # not checked out
    git = inner_git(path, deadline)
    status = git.ask(*_STATUS)
    return not status.ok or bool(status.output) or bool(dirty(path, linked(git), deadline))
