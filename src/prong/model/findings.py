"""What `prong doctor` finds, line by line."""

from collections.abc import Mapping
from enum import StrEnum

from prong.model.record import Record, field


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
