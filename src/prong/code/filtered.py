"""Files that git takes for changed only because their filter must not run.

For a file as new as its index git compares contents, and what it stores of a file with a filter is
something else than the file. Such a file is unchanged if its times, size and inode are to the
nanosecond those that git noted when it last read it; git itself compares seconds.
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
"""The bits of a number that the index has."""

_Stat = tuple[int, int, int, int]


def unchanged(git: Git, top: bytes, paths: Collection[bytes]) -> set[bytes]:
    """Those of the paths that have a filter and are as git last saw them."""
    filters = {name for kind, name in git.programs if kind == b"filter"}
    if not filters or not paths:
        return set()
    asked = b"".join(path + b"\0" for path in paths)
    # Who has no time left for these questions takes the files for changed.
    fields = git.ask("check-attr", "-z", "--stdin", "filter", stdin=asked).output.split(b"\0")
    having = {
        path for path, value in zip(fields[::3], fields[2::3], strict=False) if value in filters
    }
    if not having:
        return set()
    noted = _noted(git.ask("ls-files", "-z", "--debug").output)
    return {path for path in having if path in noted and noted[path] == _stat(top + b"/" + path)}


def _noted(listing: bytes) -> dict[bytes, _Stat]:
    """What git noted of each file."""
    found: dict[bytes, _Stat] = {}
    at = 0
    while match := _NOTED.match(listing, at):
        at = match.end()
        seconds, nano, modified, modified_nano, inode, size = map(int, match.groups()[1:])
        times = seconds * _BILLION + nano, modified * _BILLION + modified_nano
        found[match[1]] = (*times, inode, size)
    return found


def _stat(path: bytes) -> _Stat | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ctime_ns, status.st_mtime_ns, status.st_ino & _KEPT, status.st_size & _KEPT
