"""What `codex exec --json` prints, as far as prong reads it."""

import msgspec


class Item(msgspec.Struct):
    type: str = ""
    text: str = ""


class Failure(msgspec.Struct):
    message: str = ""


class Event(msgspec.Struct):
    """One line."""

    type: str = ""
    thread_id: str | None = None
    item: Item | None = None
    error: Failure | None = None
    message: str = ""
