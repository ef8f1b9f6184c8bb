"""The words of a session, turn by turn, as a search reads them."""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol

from prong.model.record import Record


class TurnText(Record, frozen=True):
    """What was said and done in one turn. Texts as they are, not shortened."""

    id: str
    index: int | None
    """None on an abandoned branch."""
    kind: str
    """A `TurnKind`."""
    started: str | None
    """As the agent wrote it down (RFC 3339)."""
    prompt: str
    """What was asked, with what was typed while the agent was at work."""
    answer: str
    """All that the agent said, without thoughts and tool calls."""
    last_answer: str
    """The last thing it said."""
    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    output: str = ""
    """What tools gave back, each result cut to its beginning and end."""
    aside: str = ""
    """What sub-agents were asked in this turn, and said."""


class Stamp(NamedTuple):
    """Differs when a file differs."""

    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, stat: os.stat_result) -> "Stamp":
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ino)


class FileTexts(NamedTuple):
    """The turns that stand in one session file. What it only points to stands in another."""

    path: str
    stamp: Stamp
    session_id: str
    turns: Iterable[TurnText]


class TextSink(Protocol):
    """Somebody who wants the words of files while a scan reads them."""

    @property
    def output(self) -> bool:
        """False when what tools gave back is not wanted: `TurnText.output` may then be empty."""
        ...

    def expect(self, files: Mapping[str, Stamp]) -> None:
        """Told before the first one which files a scan will read."""
        ...

    def wants(self, path: str, stamp: Stamp) -> bool:
        """True when the file is new to it, or another one than it was."""
        ...

    def take(self, texts: FileTexts) -> None: ...
