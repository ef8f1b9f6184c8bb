"""Points in time as people type them: `3d`, `12h`, `2w`, `yesterday`, or a date."""

import re
from datetime import UTC, datetime, timedelta

EXAMPLES = "3d, 12h, 2w, yesterday or 2026-11-01"

_SPAN = r"(\d+)\s*(m|min|h|d|w|mo|y)"
_UNITS = {
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "mo": timedelta(days=30),
    "y": timedelta(days=365),
}


def moment(text: str) -> datetime:
    """Parse a point in time to UTC. Raises `ValueError` for anything else."""
    text = text.strip()
    try:
        return _moment(text)
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _moment(text: str) -> datetime:
    now = datetime.now(UTC)
    if span := re.fullmatch(_SPAN, text, re.IGNORECASE):
        return now - int(span[1]) * _UNITS[span[2].lower()]
    # Days start at midnight in the user's time zone.
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    if text.lower() in ("today", "yesterday"):
        return (midnight - timedelta(days=text.lower() == "yesterday")).astimezone(UTC)
    return datetime.fromisoformat(text).astimezone(UTC)
