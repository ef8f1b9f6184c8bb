"""Is a thread open in a Codex process? It holds a lock on a file named after the thread."""

import fcntl
from pathlib import Path


def is_open(root: Path, thread_id: str) -> bool:
    """True when some process has the thread open for writing. A left-over lock file is not that."""
    try:
        with (root / "thread-writer-locks" / f"{thread_id}.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
