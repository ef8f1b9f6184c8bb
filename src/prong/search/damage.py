"""Which errors of an index mean that it is damaged, and which that its disk is full."""

import errno
import sqlite3

from prong.errors import Unavailable

_PASSING = ("lockfile", "too many open files", "no space", "permission denied", "read-only")
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}
_SQLITE_NO_ROOM = {
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY),
}


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


def has_no_room(error: BaseException | None) -> bool:
    """True when nothing can be written where the index is."""
    if isinstance(error, sqlite3.Error):
        # Without a code it did not come from sqlite itself; the lower bits are the kind.
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _SQLITE_NO_ROOM
    if isinstance(error, ValueError):
        return any(sign in str(error).lower() for sign in _PASSING[2:])
    return isinstance(error, OSError) and error.errno in _NO_ROOM


def unavailable(error: Exception) -> Exception:
    """What to say of an index that cannot be opened; an `OSError` is one."""
    if isinstance(error, OSError):
        return error
    if has_no_room(error):
        return OSError(errno.ENOSPC, str(error))
    return Unavailable(f"cannot use the search index: {error}", hint="try again in a moment")
