"""The text of a session turn by turn, for the search index."""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from prong.model.record import Record


class TurnText(Record, frozen=True):
    """The texts of one turn, unabridged."""

    id: str
    index: int | None
    kind: str
    """A `TurnKind`."""
    started: str | None
    """As the agent recorded it (RFC 3339)."""
    prompt: str
    """The prompt, with the prompts typed while the agent was busy."""
    answer: str
    """Everything the agent wrote, without thoughts and tool calls."""
    last_answer: str
    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    output: str = ""
    """Tool results, each cut to its beginning and end."""
    aside: str = ""
    """Prompts and answers of the sub-agents of this turn."""


class Stamp(NamedTuple):
    """A file's version: it differs when the file differs."""

    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, stat: os.stat_result) -> "Stamp":
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ino)


class FileTexts(NamedTuple):
    """The turns of one session file. Turns that it only refers to belong to another file."""

    path: str
    stamp: Stamp
    session_id: str
    turns: Iterable[TurnText]


class TextSink(Protocol):
    """A consumer of the texts of session files while a scan reads them."""

    @property
    def output(self) -> bool:
        """False when tool output is not needed: `TurnText.output` may then be empty."""
        ...

    def expect(self, files: Mapping[str, Stamp]) -> None:
        """Announce the files that a scan will read, before the first one."""
        ...

    def wants(self, path: str, stamp: Stamp) -> bool:
        """True when the file is new or changed."""
        ...

    def take(self, texts: FileTexts) -> None: ...
