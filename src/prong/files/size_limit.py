"""How large a file in a snapshot may be, for those who cannot wait for `prong.config`: hooks."""

from prong import paths
from prong.files.regular import read_regular

_MEGABYTE = 1000 * 1000
SNAPSHOT_LIMIT = 50 * _MEGABYTE
"""In bytes. Larger files are left out and listed."""


def snapshot_limit() -> int:
    """What `[snapshots] limit_mb` of the configuration says, in bytes.

    A file that says nothing, or nothing that can be understood, means the default: everybody but
    the hooks loads `prong.config`, which complains.
    """
    try:
        data = read_regular(paths.config_file())
    except (OSError, RuntimeError):  # there need be neither a file nor a home
        return SNAPSHOT_LIMIT
    import tomllib

    try:
        value = tomllib.loads(data.decode("utf-8"))["snapshots"]["limit_mb"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return SNAPSHOT_LIMIT
    return in_bytes(value) or SNAPSHOT_LIMIT


def in_bytes(megabytes: object) -> int | None:
    """None for what is no size, or nothing at all."""
    if isinstance(megabytes, bool) or not isinstance(megabytes, int | float):
        return None
    try:
        size = int(megabytes * _MEGABYTE)
    except (ValueError, OverflowError):  # not a number, infinite
        return None
    return size if size > 0 else None
