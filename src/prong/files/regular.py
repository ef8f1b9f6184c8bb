"""Reading files that others put there: only regular ones, and never without a limit.

A pipe of that name would keep its reader waiting for ever, and a device has no end.
"""

import os
import stat
from pathlib import Path
from typing import BinaryIO

LIMIT = 64 << 20
"""Bytes. No settings, and no file that goes with a session, are nearly as large."""
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def open_regular(path: Path | str, buffering: int = -1) -> BinaryIO:
    """The file, or what a link leads to; raises `OSError` for anything but a regular file."""
    # A device is not even opened: that alone may do something.
    _check(os.stat(path), path)  # noqa: PTH116 -- the hook starts no Path for it
    descriptor = os.open(path, _FLAGS)
    try:
        # Something else may have its name by now.
        _check(os.fstat(descriptor), path)
        return os.fdopen(descriptor, "rb", buffering)
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path | str, limit: int = LIMIT) -> bytes:
    """All of it; raises `OSError` when it is larger than that."""
    with open_regular(path) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(f"larger than {limit >> 20} MiB: {os.fspath(path)}")
    return content


def refuse_special(folder: Path | str) -> None:
    """Raise `ValueError` when something below a folder is neither a regular file nor a folder.

    For folders that a library reads by itself. What is not there, or not yet, is no matter.
    """
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)  # noqa: PTH118 -- the hook starts no Path for it
            try:
                mode = os.stat(path).st_mode  # noqa: PTH116
            except OSError:
                continue
            if not stat.S_ISREG(mode):
                raise ValueError(f"{path} is not a regular file")


def _check(status: os.stat_result, path: Path | str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(21, "a folder, not a file", os.fspath(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(22, "not a regular file", os.fspath(path))
