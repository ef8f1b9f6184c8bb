"""Whether repositories inside a working tree have changes, found without running their programs.

Git would ask each of them itself, and follow the settings of each: filters, a file system monitor.
So git is told to leave them out, and every one is asked here in the same guarded way.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from prong.code.git import Deadline, Git

LINKED = b"160000"
"""The mode of a submodule."""
LEFT_OUT = "--ignore-submodules=dirty"
"""Git compares which commit is checked out, and starts nothing in the submodule."""
_STATUS = ("status", "--porcelain=v2", "-z", "--untracked-files=normal", LEFT_OUT)


def inner_git(path: Path, deadline: Deadline | None = None) -> Git:
    """Git looks for no other repository above, should this one be none."""
    return Git(path, f"--git-dir={path / '.git'}", f"--work-tree={path}", deadline=deadline)


def linked(git: Git) -> list[bytes]:
    """The submodules in the index."""
    lines = git.run("ls-files", "-z", "-s").split(b"\0")[:-1]
    return [line.partition(b"\t")[2] for line in lines if line.startswith(LINKED)]


def dirty(top: Path, paths: Iterable[bytes], deadline: Deadline | None = None) -> list[bytes]:
    """Those with something in them that is not committed, or that git cannot look into."""
    return [path for path in paths if _is_dirty(top / os.fsdecode(path), deadline)]


def _is_dirty(path: Path, deadline: Deadline | None) -> bool:
    if not os.path.lexists(path / ".git"):
        return False  # not checked out
    git = inner_git(path, deadline)
    status = git.ask(*_STATUS)
    return not status.ok or bool(status.output) or bool(dirty(path, linked(git), deadline))
