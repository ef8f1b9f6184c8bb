"""A lock between processes, which nobody waits for without end.

Who holds it may be stopped (Ctrl-Z) for as long as a user likes, so waiting has a limit, and the
caller says what happens then. The kernel lets go of it when a process ends, however it ends.
"""

import fcntl
import time

_PAUSE = 0.005


def locked(descriptor: int, patience: float) -> bool:
    """Lock an open file or folder until it is closed; False when others kept it too long.

    True as well where the file system has no locks: there is nothing to wait for.
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
