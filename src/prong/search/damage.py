"""Which errors of an index mean that it is damaged."""

import sqlite3

from prong.errors import Unavailable

_PASSING = ("lockfile", "too many open files", "no space", "permission denied", "read-only")


def is_damage(error: Exception) -> bool:
    """True when an index must be made anew; what others hold, or what the disk lacks, will pass."""
    if isinstance(error, sqlite3.IntegrityError):
        return False  # what we wrote was wrong, not what is there
    if isinstance(error, sqlite3.Error):
        operational = isinstance(error, sqlite3.OperationalError)
        return "no such" in str(error) if operational else isinstance(error, sqlite3.DatabaseError)
    if isinstance(error, ValueError):
        # All errors of tantivy are of this kind.
        return not any(sign in str(error).lower() for sign in _PASSING)
    return isinstance(error, FileNotFoundError)


def unavailable(error: Exception) -> Exception:
    """What to say of an index that cannot be opened; an `OSError` is one."""
    if isinstance(error, OSError):
        return error
    return Unavailable(f"the search index cannot be used: {error}", hint="try again in a moment")
