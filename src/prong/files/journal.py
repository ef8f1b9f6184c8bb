"""What a fork is about to do, on the disk before it is done, so that it can be undone.

Every step raises the audit event `prong.step`, so that a test can stop the world at each of them.
"""

import fcntl
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from prong.paths import private_dir


class Journal:
    """An append-only file of JSON lines, locked while its writer lives."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
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
            # Where nothing can be locked, nothing is taken for left behind either.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists():
                sync_folder(folder)
                return journal
            # Somebody cleaned up before it was locked: once more.
            journal.close()

    @classmethod
    def open(cls, path: Path) -> "Journal | None":
        """None while its writer lives, or when it is gone by now."""
        try:
            file = path.open("r+b", buffering=0)
        except OSError:
            return None
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Somebody else may have cleaned up before it was locked.
            if path.is_file():
                return cls._read(path, file)
        except OSError:
            pass
        file.close()
        return None

    @classmethod
    def _read(cls, path: Path, file: BinaryIO) -> "Journal":
        journal = cls(path, file)
        for line in file.read().split(b"\n"):
            with suppress(ValueError):  # half a line: then what it announces was not done
                entry: Any = json.loads(line)
                if isinstance(entry, dict):
                    journal.entries.append(cast(dict[str, Any], entry))
        return journal

    def write(self, **entry: Any) -> None:
        step("write", self._path)
        self.entries.append(entry)
        data = json.dumps(entry).encode() + b"\n"
        while data:
            # Less than all is written when the disk gets full; the next try says so.
            data = data[self._file.write(data) :]
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def step(what: str, path: Path) -> None:
    """Tell whoever listens what comes next."""
    sys.audit("prong.step", what, str(path))


def sync_file(path: Path) -> None:
    """Onto the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """The names in it, onto the disk."""
    with suppress(OSError):  # not every file system can
        sync_file(path)
