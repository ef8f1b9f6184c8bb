"""Values that sqlite does not know."""

import os


def as_bytes(path: str | None) -> bytes | None:
    """A path for a column: a file name need not be valid text."""
    return None if path is None else os.fsencode(path)


def as_text(path: bytes | None) -> str | None:
    return None if path is None else os.fsdecode(path)
