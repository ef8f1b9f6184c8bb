"""Timestamps as agents write them, as aware datetimes."""

from datetime import UTC, datetime


def parse_time(text: str | None) -> datetime | None:
    """RFC 3339 text as UTC; None for anything else."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is UTC:
            return time
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
