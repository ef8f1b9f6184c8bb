"""Files that appear whole or not at all, and locks between processes.

A suspended process (Ctrl-Z) keeps its locks, so callers wait only for a while and decide what to do
then. The kernel releases a lock when its process ends.
"""

import fcntl
import os
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from prong.paths import private_dir

_PAUSE = 0.005


def write(
    path: Path,
    content: bytes,
    *,
    mode: int = 0o600,
    like: os.stat_result | None = None,
    sync: bool = True,
) -> None:
    """Create or replace a file. It gets the owner and mode of `like`, if given."""
    staged = path.with_name(f".{path.name}.{os.urandom(4).hex()}.prong")
    try:
        write_new(staged, content, mode=mode, like=like, sync=sync)
        staged.replace(path)
    except BaseException:
        staged.unlink(missing_ok=True)
        raise


def write_private(path: Path, content: bytes, *, sync: bool = True) -> None:
    """Write a file of prong's own, and create its folder if missing."""
    private_dir(path.parent)
    write(path, content, sync=sync)


def write_new(
    path: Path,
    content: bytes,
    *,
    mode: int = 0o600,
    like: os.stat_result | None = None,
    sync: bool = True,
) -> None:
    """Write a file that must not exist yet."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        if like is not None:
            os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
            with suppress(OSError):
                os.fchown(descriptor, like.st_uid, like.st_gid)
        if sync:
            os.fsync(descriptor)


def link_new(staged: Path, target: Path) -> None:
    """Give a file a new name, maybe beside the old one; `FileExistsError` if it is taken."""
    try:
        os.link(staged, target)
    except FileExistsError:
        raise
    except OSError:  # not every file system has hard links
        if target.exists():
            raise FileExistsError(target) from None
        staged.rename(target)


def create_private(path: Path) -> None:
    """Create an empty file, if missing, readable by its owner only.

    For sqlite, which would apply the umask. An existing file is not opened: closing any descriptor
    of a database drops the locks that the process holds on it. So a new one is created and closed
    under a temporary name first.
    """
    if path.exists():
        return
    staged = path.with_name(f".{path.name}-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        write_new(staged, b"", sync=False)
        with suppress(FileExistsError):  # another process was faster
            link_new(staged, path)
    finally:
        staged.unlink(missing_ok=True)


def sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Flush a folder's directory entries to disk."""
    with suppress(OSError):  # not every file system supports this
        sync_file(path)


def locked(descriptor: int, patience: float, *, shared: bool = False) -> bool:
    """Lock an open file or folder; False on timeout, True where there are no locks."""
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE)
        except OSError:
            return True
        else:
            return True


@contextmanager
def held(path: Path, patience: float, *, shared: bool = False) -> Generator[bool]:
    """Lock a folder, or a lock file, which is created if missing. Yields False on timeout."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield locked(descriptor, patience, shared=shared)
    finally:
        os.close(descriptor)
