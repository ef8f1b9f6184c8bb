"""A folder of our own inside the git folder of a working tree, for as long as a snapshot takes.

It is locked while its maker lives. What a killed one left is swept by the next.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from prong.code.repository import Repository
from prong.errors import External

_HOME = "prong"
_PREFIX = "take-"
_PATIENCE = 0.1
_TRIES = 20
_FUTURE = ((1 << 31) - 2) * 10**9
"""Later than every file: then git takes none of them for written just now."""


def home(repository: Repository) -> Path:
    """Where what belongs to one working tree is kept between snapshots."""
    return repository.git_dir / _HOME


class Private:
    """A copy of the index, and a git folder whose refs and objects are the repository's."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        """With the head of the moment when the index was copied."""
        self.unsteady = False
        """Whether there was no such moment: the head moved all the time."""
        self.folder = home(repository) / f"{_PREFIX}{os.getpid()}-{os.urandom(4).hex()}"
        self.index = self.folder / "index"
        """With the time of the original: by it git knows which files to look at twice."""
        self.git_dir = self.folder / "git"
        """Where git may leave its reports when it is killed."""
        self.objects = self.folder / "objects"
        """Where git writes objects until all of them are there."""
        self.started = 0
        """By the clock of the file system, in nanoseconds: it may be that of another machine."""
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def copy_index(self) -> bool:
        """False when there is none, though there should be: somebody removed it.

        If the head moved in the meantime, both are taken anew: a commit may have come in between.
        """
        there = False
        for _ in range(_TRIES):
            there = self._copy_index()
            now = self.repository.now()
            if now == self.repository:
                return there
            self.repository = now
        self.unsteady = True
        return there

    def _copy_index(self) -> bool:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                with self.repository.index_file.open("rb") as file:
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
        """An empty folder for new objects, beside which git sees those of the repository."""
        _remove(self.objects)
        (self.objects / "info").mkdir(parents=True)
        (self.objects / "pack").mkdir()
        others = os.fsencode(self.repository.common_dir / "objects")
        (self.objects / "info" / "alternates").write_bytes(others + b"\n")
        return self.objects

    def distrust_no_time(self) -> None:
        """Let git believe the index in everything; the caller looks at new files himself."""
        with suppress(FileNotFoundError):
            os.utime(self.index, ns=(_FUTURE, _FUTURE))

    def _leave(self) -> None:
        _remove(self.folder)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _sweep(folder: Path) -> None:
    """Remove what killed processes left behind."""
    for left in folder.glob(f"{_PREFIX}*"):
        if _is_alive(left.name):
            continue  # it may not have locked it yet
        try:
            descriptor = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue  # its maker lives, on another machine or in a container
        else:
            _remove(left)
        finally:
            os.close(descriptor)


def _remove(folder: Path) -> None:
    """Everything in it, as far as that is possible. To load `shutil` takes longer than this."""
    for place, _, names in os.walk(folder, topdown=False):
        for name in names:
            with suppress(OSError):
                Path(place, name).unlink()
        with suppress(OSError):
            Path(place).rmdir()


def _is_alive(name: str) -> bool:
    try:
        os.kill(int(name.removeprefix(_PREFIX).split("-")[0]), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except OSError:
        return True
    return True
