"""Lock between processes, with a limited wait.

A process can hold it while suspended (Ctrl-Z) for any length of time, so callers wait only for a
while and decide what to do then. The kernel releases it when the process ends, however it ends.
"""

import fcntl
import time

_PAUSE = 0.005


def locked(descriptor: int, patience: float) -> bool:
    """Lock an open file or folder until it is closed; False on timeout.

    Also True on file systems without locks, where there is nothing to wait for.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE)
        except OSError:
            return True
        else:
            return True
