"""Conversion of paths to and from sqlite values."""

import os


def as_bytes(path: str | None) -> bytes | None:
    """Encode a path for a column: file names need not be valid text."""
    return None if path is None else os.fsencode(path)


def as_text(path: bytes | None) -> str | None:
    return None if path is None else os.fsdecode(path)
