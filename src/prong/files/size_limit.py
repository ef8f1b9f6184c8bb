"""Size limit of files in snapshots, for hooks, which have no time to load `prong.config`."""

from prong import paths
from prong.files.regular import read_regular

_MEGABYTE = 1000 * 1000
SNAPSHOT_LIMIT = 50 * _MEGABYTE
"""In bytes. Larger files are left out and listed."""


def snapshot_limit() -> int:
    """Return `[snapshots] limit_mb` of the configuration in bytes.

    Missing or invalid settings mean the default: everything but the hooks loads `prong.config`,
    which reports errors.
    """
    try:
        data = read_regular(paths.config_file())
    except (OSError, RuntimeError):  # the file or the home folder may be missing
        return SNAPSHOT_LIMIT
    import tomllib

    try:
        value = tomllib.loads(data.decode("utf-8"))["snapshots"]["limit_mb"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return SNAPSHOT_LIMIT
    return in_bytes(value) or SNAPSHOT_LIMIT


def in_bytes(megabytes: object) -> int | None:
    """Convert megabytes to bytes; None for an invalid size."""
    if isinstance(megabytes, bool) or not isinstance(megabytes, int | float):
        return None
    try:
        size = int(megabytes * _MEGABYTE)
    except (ValueError, OverflowError):  # not a number, or infinite
        return None
    return size if size > 0 else None
