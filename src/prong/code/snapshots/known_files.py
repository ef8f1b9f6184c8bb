"""Cache of file contents by signature: an unchanged file is not read again.

Stored beside the index of a working tree. A file is unchanged if inode, size, mode and both times
are the same, and if it was not written around the moment it was read.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from prong.code.files import signature
from prong.files.regular import read_regular

_SETTLED = 2 * 10**9
"""Nanoseconds after which a write changes the file's time, on every file system."""


class Known:
    """A cache of path -> signature and blob. If lost or damaged, it costs only time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.used = False
        self._old: dict[str, list[Any]] = {}
        self._new: dict[str, list[Any]] = {}
        with suppress(OSError, ValueError):
            loaded: Any = json.loads(read_regular(path))
            if isinstance(loaded, dict):
                self._old = cast(dict[str, list[Any]], loaded)

    def __len__(self) -> int:
        """Return the number of files in the last run."""
        return len(self._old)

    def blob(self, name: bytes, status: os.stat_result) -> str | None:
        key = os.fsdecode(name)
        entry = self._old.get(key)
        if not isinstance(entry, list) or entry[:-1] != list(signature(status)):
            return None
        blob = entry[-1]
        if not isinstance(blob, str):
            return None
        self._new[key] = entry
        self.used = True
        return blob

    def learn(self, name: bytes, status: os.stat_result, blob: str, read: int) -> None:
        """Remember a file's blob; `read` is a time before it was read."""
        if max(status.st_mtime_ns, status.st_ctime_ns) < read - _SETTLED:
            self._new[os.fsdecode(name)] = [*signature(status), blob]

    def forget(self) -> None:
        self.used = False
        self._old, self._new = {}, {}

    def save(self, temporary: Path) -> None:
        """Save the files seen in this run and drop all others."""
        if self._new == self._old:
            return
        with suppress(OSError):
            temporary.write_text(json.dumps(self._new))
            temporary.replace(self._path)
