"""Changed files of a working tree, found without running a program of its repository.

Git would inspect nested repositories itself, with their filters and file system monitors. So git is
told to skip them, and each is inspected here under the same restrictions as the outer one.
"""

import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path

from prong.code.git import Deadline, Git

LINKED = b"160000"
"""The mode of a submodule."""
LEFT_OUT = "--ignore-submodules=dirty"
"""Git compares the checked-out commit and starts nothing in the submodule."""
_STATUS = ("status", "--porcelain=v2", "-z", LEFT_OUT)
FILTER_OF = ("check-attr", "-z", "--stdin", "filter")
"""Reads paths, as in the output of git with `-z`."""
_FIELDS = {b"1": 8, b"2": 9, b"u": 10, b"?": 1}
"""Spaces before the path in a line of `git status --porcelain=v2`."""
_INDEX_ENTRY = re.compile(
    rb"([^\0]+)\0  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n"
    rb"  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: \w+\n"
)
_BILLION = 10**9
_KEPT = 0xFFFF_FFFF
"""The bits of a number that the index stores."""


def changed_files(git: Git) -> list[str]:
    """List changed and new files, except those that git is told to ignore."""
    names: list[bytes] = []
    fields = iter(git.items(*_STATUS, "--untracked-files=all"))
    for field in fields:
        kind = field[:1]
        names.append(field.split(b" ", _FIELDS.get(kind, 1))[-1])
        if kind == b"2":
            names.append(next(fields))  # the old name of a renamed file
    same = unchanged(git, os.fsencode(git.folder), names)
    names = [name for name in names if name not in same]
    links = [name for name in submodules(git) if name not in names]
    names += dirty(git.folder, links, git.deadline)
    return [os.fsdecode(name).rstrip("/") for name in names]


def unchanged(git: Git, top: bytes, paths: Collection[bytes]) -> set[bytes]:
    """Return files that git reports as changed only because their filter must not run.

    Git compares the contents of a file as new as its index, and what it stores for a file with a
    filter differs from the file. Such a file is unchanged if times, size and inode equal, to the
    nanosecond, what git recorded when it last read it. Git itself compares seconds.
    """
    filters = {name for kind, name in git.programs if kind == b"filter"}
    if not filters or not paths:
        return set()
    # If the deadline passes, the files count as changed.
    attributes = git.ask(*FILTER_OF, stdin=b"".join(path + b"\0" for path in paths))
    filtered = {path for path, name in filters_in(attributes.output).items() if name in filters}
    if not filtered:
        return set()
    listing = git.ask("ls-files", "-z", "--debug").output
    recorded: dict[bytes, tuple[int, ...]] = {}
    position = 0
    while match := _INDEX_ENTRY.match(listing, position):
        position = match.end()
        seconds, nano, modified, modified_nano, inode, size = map(int, match.groups()[1:])
        times = seconds * _BILLION + nano, modified * _BILLION + modified_nano
        recorded[match[1]] = (*times, inode, size)
    return {path for path in filtered if recorded.get(path, ()) == _stat(top + b"/" + path)}


def filters_in(output: bytes) -> dict[bytes, bytes]:
    """Map paths to their filter attribute, from the output of `FILTER_OF`."""
    fields = output.split(b"\0")
    return dict(zip(fields[::3], fields[2::3], strict=False))


def _stat(path: bytes) -> tuple[int, ...] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ctime_ns, status.st_mtime_ns, status.st_ino & _KEPT, status.st_size & _KEPT


def inner_git(path: Path, deadline: Deadline | None = None) -> Git:
    """Return git for exactly this repository: it searches no parent folder if this is none."""
    return Git(path, f"--git-dir={path / '.git'}", f"--work-tree={path}", deadline=deadline)


def submodules(git: Git) -> dict[bytes, str]:
    """Map the submodules in the index to their commits."""
    lines = (line.partition(b"\t") for line in git.items("ls-files", "-z", "-s"))
    return {path: entry[7:-2].decode() for entry, _, path in lines if entry.startswith(LINKED)}


def hidden_files(git: Git) -> set[bytes]:
    """List the files that git was told not to check: `assume-unchanged` or `skip-worktree`."""
    lines = git.items("ls-files", "-z", "-v")
    return {line[2:] for line in lines if line[:1] == b"S" or line[:1].islower()}


def dirty(top: Path, paths: Iterable[bytes], deadline: Deadline | None = None) -> list[bytes]:
    """Return the nested repositories that have changes or that git cannot inspect."""

    def is_dirty(path: Path) -> bool:
        if not os.path.lexists(path / ".git"):
            return False  # not checked out
        git = inner_git(path, deadline)
        status = git.ask(*_STATUS, "--untracked-files=normal")
        return not status.ok or bool(status.output) or bool(dirty(path, submodules(git), deadline))

    return [path for path in paths if is_dirty(top / os.fsdecode(path))]
