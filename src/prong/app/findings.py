"""What `prong doctor` finds, line by line."""

from collections.abc import Mapping
from enum import StrEnum

from prong.record import Record, field


class Level(StrEnum):
    OK = "ok"
    NOTE = "note"
    WARNING = "warning"


class Finding(Record, frozen=True):
    """One line of the report."""

    topic: str
    level: Level
    message: str
    hint: str | None = None
    details: Mapping[str, object] = field(default_factory=dict[str, object])
    """The same for programs, where a message holds more than words."""


def size_text(size: int | None) -> str:
    """`73.4 MB`, `12 kB`; `?` for an unknown size."""
    if size is None:
        return "?"
    if size >= 1e9:
        return f"{size / 1e9:.1f} GB"
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


def counted(count: int, what: str) -> str:
    """`1 turn`, `2 turns`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
