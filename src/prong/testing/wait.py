"""Waiting for other processes and threads."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 90.0
"""Seconds. Generous, because test machines may be slow; a wait ends as soon as the event comes."""
POLL = 0.03
"""Seconds between checks."""


def wait_until(wanted: Callable[[], bool], timeout: float = PATIENCE, what: str = "it") -> None:
    """Poll until `wanted()` is true."""
    deadline = time.monotonic() + timeout
    while not wanted():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come about in {timeout} s")
        time.sleep(POLL)
