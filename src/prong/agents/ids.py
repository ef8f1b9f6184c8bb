"""The ids of sessions: both agents take UUIDs."""

from uuid import UUID

from prong.errors import UsageError


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
