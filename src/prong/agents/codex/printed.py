"""The output of `codex exec --json`, limited to the fields that prong reads."""

import msgspec


class PrintedItem(msgspec.Struct):
    type: str = ""
    text: str = ""


class Failure(msgspec.Struct):
    message: str = ""


class CodexEvent(msgspec.Struct):
    """One line of the output."""

    type: str = ""
    thread_id: str | None = None
    item: PrintedItem | None = None
    error: Failure | None = None
    message: str = ""
