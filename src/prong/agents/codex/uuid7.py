"""Ids as Codex makes them: UUIDs of version 7, which begin with the time."""

import os
import time
from uuid import UUID


def uuid7() -> str:
    """A new id: 48 bits of milliseconds, then random ones."""
    milliseconds = time.time_ns() // 1_000_000
    number = milliseconds << 80 | int.from_bytes(os.urandom(10))
    number = number & ~(0xF << 76) | 7 << 76
    number = number & ~(0b11 << 62) | 0b10 << 62
    return str(UUID(int=number))
