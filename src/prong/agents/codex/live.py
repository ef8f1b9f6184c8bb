"""Is a thread open in a Codex process? It holds a lock on a file named after the thread."""

import fcntl
from pathlib import Path

_LOCKS = Path("/proc/locks")


def is_open(root: Path, thread_id: str) -> bool:
    """True when some process has the thread open for writing. A left-over lock file is not that."""
    path = root / "thread-writer-locks" / f"{thread_id}.lock"
    try:
        inode = path.stat().st_ino
    except OSError:
        return False
    try:
        locks = _LOCKS.read_text()
    except OSError:
        return _is_locked(path)
    # Looking must not lock: a Codex that starts at that instant would think it is too late.
    return any(
        " FLOCK " in line and line.split()[5].rpartition(":")[2] == str(inode)
        for line in locks.splitlines()
    )


def _is_locked(path: Path) -> bool:
    try:
        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
