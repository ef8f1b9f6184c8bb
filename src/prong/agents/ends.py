"""The end of a session file, without the rest of it: for what is looked at often."""

from collections.abc import Iterator
from pathlib import Path

from prong.agents import jsonl

ENOUGH = 1 << 16
"""Bytes. What was said last is in there, unless very much stands behind it."""
MUCH = 1 << 21
"""Bytes, for when it is not."""


def last_lines(path: Path, size: int = ENOUGH) -> Iterator[bytes]:
    """The last lines of a file, the last one first; nothing when it cannot be read."""
    try:
        with jsonl.open_file(path) as file:
            start = max(0, jsonl.size_of(file) - size)
            file.seek(start)
            lines = file.read().split(b"\n")
    except OSError:
        return
    # The first one has no beginning.
    yield from reversed(lines[1:] if start else lines)
