"""Helpers shared by several agents: titles, locks, ids and times."""

import os
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from prong.errors import UsageError
from prong.files.atomic import held
from prong.redaction.visible import safe

_TITLE_LENGTH = 200
_LONGEST_LINE = 4_000
_PATIENCE = 2.0


def move(folders: list[str], folder: str) -> None:
    """Move or append a folder to the end, so that each is listed once, last entered last."""
    if folder in folders:
        folders.remove(folder)
    folders.append(folder)


def first_line(text: str) -> str:
    """Return the first nonblank line, masked and cut to the length of a title."""
    lines = (line.strip() for line in text.splitlines())
    line = next((line for line in lines if line), "")
    # Mask secrets before cutting: half a key would not be recognized.
    return safe(line[:_LONGEST_LINE])[:_TITLE_LENGTH]


def foot(screen: str, rows: int = 3) -> str:
    """Return the last nonblank rows of a screen, where a dialog lists its keys."""
    filled = [row for row in screen.splitlines() if row.strip()]
    return "\n".join(filled[-rows:])


def alone(folder: Path) -> AbstractContextManager[bool]:
    """Lock a folder without writing a lock file.

    It keeps two forks from taking the same id. A suspended holder delays others only briefly: on
    a timeout they go on without the lock, since publishing links to a free name in any case.
    """
    return held(folder, _PATIENCE)


def path_text(path: Path | str) -> str:
    """Convert a path to text as agents write it: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


def checked_id(id_: str) -> str:
    """Return the id if it is a UUID, which agents require; raise `UsageError` otherwise."""
    if not is_uuid(id_):
        raise UsageError(f"{id_!r} is not a session id: session ids are UUIDs")
    return id_


def parse_time(text: str | None) -> datetime | None:
    """Parse RFC 3339 text as UTC; None for anything else."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is UTC:
            return time
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def as_dict(value: Any) -> dict[str, Any]:
    """Return decoded JSON if it is an object; an empty one for anything else."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return decoded JSON if it is a list; an empty one for anything else."""
    return cast(list[Any], value) if isinstance(value, list) else []
