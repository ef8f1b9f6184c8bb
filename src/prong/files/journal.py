"""Journal of a fork in progress, written to disk before each step so that it can be undone.

Every step raises the audit event `prong.step`, so that a test can interrupt a fork at any of them.
"""

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from prong.files.atomic import sync_folder
from prong.files.regular import objects_in
from prong.paths import private_dir


class Journal:
    """An append-only file of JSON lines, locked while its writer runs."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self._file = file
        self.entries: list[dict[str, Any]] = []

    @classmethod
    def create(cls, folder: Path, token: str) -> "Journal":
        private_dir(folder)
        path = folder / f"{token}.jsonl"
        while True:
            step("write", path)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            journal = cls(path, os.fdopen(descriptor, "wb", buffering=0))
            # Without locks, no journal is taken for a leftover either.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists():
                sync_folder(folder)
                return journal
            # Someone cleaned up before it was locked: try again.
            journal.close()

    @classmethod
    def open(cls, path: Path) -> "Journal | None":
        """Open a leftover journal; None if its writer still runs or the file is gone."""
        try:
            file = path.open("r+b", buffering=0)
        except OSError:
            return None
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Someone may have cleaned up before it was locked.
            if path.is_file():
                journal = cls(path, file)
                journal.entries += objects_in(file.read())
                return journal
        except OSError:
            pass
        file.close()
        return None

    def write(self, **entry: Any) -> None:
        step("write", self.path)
        self.entries.append(entry)
        data = json.dumps(entry).encode() + b"\n"
        while data:
            # A write is partial when the disk fills up; the next one raises.
            data = data[self._file.write(data) :]
        os.fsync(self._file.fileno())

    def make_folders(self, folder: Path) -> None:
        """Create a folder with its parents, as far as they are missing."""
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        for path in reversed(missing):
            self.write(folder=str(path))
            step("make", path)
            path.mkdir(mode=0o700, exist_ok=True)

    def close(self) -> None:
        self._file.close()


def leftovers(folder: Path) -> list[Path]:
    """Return the journals of killed processes."""
    return [journal.path for journal in abandoned(folder)]


def abandoned(folder: Path) -> Iterator[Journal]:
    """Yield the journals of killed processes, each locked and open until the next."""
    for path in sorted(folder.glob("*.jsonl")):
        if journal := Journal.open(path):
            try:
                yield journal
            finally:
                journal.close()


def step(what: str, path: Path) -> None:
    sys.audit("prong.step", what, str(path))
