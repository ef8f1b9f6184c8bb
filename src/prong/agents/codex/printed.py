"""What `codex exec --json` prints, as far as prong reads it."""

import msgspec


class PrintedItem(msgspec.Struct):
    type: str = ""
    text: str = ""


class Failure(msgspec.Struct):
    message: str = ""


class CodexEvent(msgspec.Struct):
    """One line."""

    type: str = ""
    thread_id: str | None = None
    item: PrintedItem | None = None
    error: Failure | None = None
    message: str = ""
