"""A temporary folder in the git folder of a working tree, for the duration of a snapshot.

Its process holds a lock on it. Folders of killed processes are removed by the next snapshot.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from prong.code.repository import Repository
from prong.errors import External
from prong.files.regular import open_regular

_HOME = "prong"
_PREFIX = "take-"
_PATIENCE = 0.1
_TRIES = 20
_FUTURE = ((1 << 31) - 2) * 10**9
"""Later than every file, so that git considers no file recently written."""


def home(repository: Repository) -> Path:
    """Return the folder for data of a working tree that is kept between snapshots."""
    return repository.git_dir / _HOME


class Private:
    """A copy of the index, and a git folder that shares the refs and objects of the repository."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        """With the head at the moment when the index was copied."""
        self.unsteady = False
        """Whether the head kept moving, so that index and head may not match."""
        self.folder = home(repository) / f"{_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
        self.index = self.folder / "index"
        """Has the time of the original, by which git decides which files to check again."""
        self.git_dir = self.folder / "git"
        """Where git may leave crash reports when it is killed."""
        self.objects = self.folder / "objects"
        """Where git writes objects until all are complete."""
        self.started = 0
        """In nanoseconds, by the clock of the file system, which may be on another machine."""
        self._lock = -1

    def __enter__(self) -> Self:
        try:
            self.folder.parent.mkdir(mode=0o700, exist_ok=True)
            _sweep(self.folder.parent)
            self.folder.mkdir(mode=0o700)
            self.started = self.folder.stat().st_mtime_ns
            self._lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            with suppress(OSError):  # not every file system has locks
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.git_dir.mkdir()
            (self.git_dir / "HEAD").write_text("ref: refs/heads/none\n")
            (self.git_dir / "commondir").write_bytes(os.fsencode(self.repository.common_dir))
        except OSError as error:
            self._leave()
            raise External(
                f"no snapshot can be kept in {self.repository.git_dir}: {error.strerror}",
                path=str(self.repository.git_dir),
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def copy_index(self) -> bool:
        """Copy the index and the head of the same moment; False if the index is missing."""
        exists = False
        for _ in range(_TRIES):
            exists = self._copy_index()
            before, self.repository = self.repository, self.repository.now()
            if before == self.repository:
                return exists
        self.unsteady = True
        return exists

    def _copy_index(self) -> bool:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                with open_regular(self.repository.index_file) as file:
                    data, status = file.read(), os.fstat(file.fileno())
            except FileNotFoundError:
                if self.repository.head is None:
                    return True
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.002)
                continue
            self.index.write_bytes(data)
            os.utime(self.index, ns=(status.st_mtime_ns, status.st_mtime_ns))
            return True

    def make_objects(self) -> Path:
        """Create an empty folder for new objects, with those of the repository as alternates."""
        _remove(self.objects)
        (self.objects / "info").mkdir(parents=True)
        (self.objects / "pack").mkdir()
        others = os.fsencode(self.repository.common_dir / "objects")
        (self.objects / "info" / "alternates").write_bytes(others + b"\n")
        return self.objects

    def distrust_no_time(self) -> None:
        """Make git trust the index entirely; the caller checks new files itself."""
        with suppress(FileNotFoundError):
            os.utime(self.index, ns=(_FUTURE, _FUTURE))

    def _leave(self) -> None:
        _remove(self.folder)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _sweep(folder: Path) -> None:
    for path in folder.glob(f"{_PREFIX}*"):
        if _is_alive(path.name):
            continue  # it may not hold its lock yet
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # locked by a process on another machine or in a container
        else:
            _remove(path)
        finally:
            os.close(descriptor)


def _remove(folder: Path) -> None:
    """Delete a folder as far as possible. Importing `shutil` would take longer than this."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            with suppress(OSError):
                Path(parent, name).unlink()
        with suppress(OSError):
            Path(parent).rmdir()


def _is_alive(name: str) -> bool:
    try:
        os.kill(int(name.removeprefix(_PREFIX).split("-")[0]), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except OSError:
        return True
    return True
