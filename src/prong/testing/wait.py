"""Waiting for what another process or thread does."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 90.0
"""Seconds for anything that a program does in an instant. Machines that run tests may be slow and
busy, and a wait that ends with an event costs nothing when it is short."""
POLL = 0.03
"""Seconds between two looks."""


def wait_until(wanted: Callable[[], bool], timeout: float = PATIENCE, what: str = "it") -> None:
    """Look until `wanted()` is true."""
    deadline = time.monotonic() + timeout
    while not wanted():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come about in {timeout} s")
        time.sleep(POLL)
