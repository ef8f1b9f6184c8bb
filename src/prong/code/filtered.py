"""Unchanged files that git reports as changed because their filter must not run.

Git compares the contents of a file as new as its index, and what it stores for a file with a filter
differs from the file. Such a file is unchanged if times, size and inode equal, to the nanosecond,
what git recorded when it last read it. Git itself compares seconds.
"""

import os
import re
from collections.abc import Collection

from prong.code.git import Git

_NOTED = re.compile(
    rb"([^\0]+)\0  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n"
    rb"  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: \w+\n"
)
_BILLION = 10**9
_KEPT = 0xFFFF_FFFF
"""The bits of a number that the index stores."""

_Stat = tuple[int, int, int, int]


def unchanged(git: Git, top: bytes, paths: Collection[bytes]) -> set[bytes]:
    """Return the paths that have a filter and match what git recorded of them."""
    filters = {name for kind, name in git.programs if kind == b"filter"}
    if not filters or not paths:
        return set()
    stdin = b"".join(path + b"\0" for path in paths)
    # If the deadline passes, the files count as changed.
    fields = git.ask("check-attr", "-z", "--stdin", "filter", stdin=stdin).output.split(b"\0")
    filtered = {
        path for path, value in zip(fields[::3], fields[2::3], strict=False) if value in filters
    }
    if not filtered:
        return set()
    index = _noted(git.ask("ls-files", "-z", "--debug").output)
    return {path for path in filtered if path in index and index[path] == _stat(top + b"/" + path)}


def _noted(listing: bytes) -> dict[bytes, _Stat]:
    """Parse the index entries into the recorded times, inode and size of each file."""
    recorded: dict[bytes, _Stat] = {}
    position = 0
    while match := _NOTED.match(listing, position):
        position = match.end()
        seconds, nano, modified, modified_nano, inode, size = map(int, match.groups()[1:])
        times = seconds * _BILLION + nano, modified * _BILLION + modified_nano
        recorded[match[1]] = (*times, inode, size)
    return recorded


def _stat(path: bytes) -> _Stat | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ctime_ns, status.st_mtime_ns, status.st_ino & _KEPT, status.st_size & _KEPT
