"""Which content a file had when it was last read: an unchanged file is not read again.

A cache beside the index of a working tree. A file counts as unchanged when its inode, size, mode
and both times are the same, and when it was not written in the moment it was read.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from prong.code.files import signature
from prong.files.regular import read_regular

_SETTLED = 2 * 10**9
"""Nanoseconds after which a write shows in the time of a file, on every file system."""


class Known:
    """Path -> signature and blob. Lost or damaged, it costs time and nothing else."""

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
        """How many files were looked at the last time."""
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
        """Remember what was read, at that time or later."""
        if max(status.st_mtime_ns, status.st_ctime_ns) < read - _SETTLED:
            self._new[os.fsdecode(name)] = [*signature(status), blob]

    def forget(self) -> None:
        self.used = False
        self._old, self._new = {}, {}

    def save(self, temporary: Path) -> None:
        """Keep what was seen in this run; what was not is no candidate any more."""
        if self._new == self._old:
            return
        with suppress(OSError):
            temporary.write_text(json.dumps(self._new))
            temporary.replace(self._path)
