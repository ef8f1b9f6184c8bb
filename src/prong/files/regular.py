"""Safe reading of untrusted files: only regular ones, up to a size limit.

Reading a pipe could block forever, and a device never ends.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

LIMIT = 64 << 20
"""In bytes. Settings and companion files of sessions are much smaller."""
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def open_regular(path: Path | str, buffering: int = -1) -> BinaryIO:
    """Open a file or the target of a link; raise `OSError` if it is not a regular file."""
    # Do not even open a device: opening can have side effects.
    _check(os.stat(path), path)  # noqa: PTH116 -- the hook starts no Path for it
    descriptor = os.open(path, _FLAGS)
    try:
        # The file may have been replaced since.
        _check(os.fstat(descriptor), path)
        return os.fdopen(descriptor, "rb", buffering)
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path | str, limit: int = LIMIT) -> bytes:
    """Read a whole file; raise `OSError` if it exceeds the limit."""
    with open_regular(path) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise OSError(f"larger than {limit >> 20} MiB: {os.fspath(path)}")
    return content


def objects_in(content: bytes) -> Iterator[dict[str, Any]]:
    """Yield JSON objects, one a line. What a partial line announces never happened."""
    import json  # slow to import

    for line in content.split(b"\n"):
        with suppress(ValueError):
            entry: Any = json.loads(line)
            if isinstance(entry, dict):
                yield cast(dict[str, Any], entry)


def refuse_special(folder: Path | str) -> None:
    """Raise `ValueError` if a folder that a library will read contains special files."""
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
