"""Small things that several agents need."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from prong.errors import UsageError
from prong.files.lock import locked
from prong.redaction.visible import safe

_TITLE_LENGTH = 200
_LONGEST_LINE = 4_000
_PATIENCE = 2.0


def move(folders: list[str], folder: str) -> None:
    """Keep each folder once, in the order in which they were last entered."""
    if folder in folders:
        folders.remove(folder)
    folders.append(folder)


def first_line(text: str) -> str:
    """The first line that says something, short enough for a title."""
    lines = (line.strip() for line in text.splitlines())
    line = next((line for line in lines if line), "")
    # Half a key is not known to be one, so it is masked before it is cut.
    return safe(line[:_LONGEST_LINE])[:_TITLE_LENGTH]


def foot(screen: str, rows: int = 3) -> str:
    """The last rows of a screen that are not blank: there a dialog tells how it is left."""
    filled = [row for row in screen.splitlines() if row.strip()]
    return "\n".join(filled[-rows:])


@contextmanager
def alone(folder: Path) -> Generator[None]:
    """One process at a time. Nothing is written for it, so nothing can be left behind.

    A process that was stopped in here holds the others up for a moment only: what they publish is
    linked to a free name in any case, and this is for the ids that a user gave to two forks.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        locked(descriptor, _PATIENCE)
        yield
    finally:
        os.close(descriptor)


def path_text(path: Path | str) -> str:
    """A path as agents write it: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False


def checked_id(id_: str) -> str:
    """The id that was asked for, if the agents' programs will take it."""
    if not is_uuid(id_):
        raise UsageError(f"{id_!r} is not a session id: session ids are UUIDs")
    return id_


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
