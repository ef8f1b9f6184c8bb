"""Findings of `prong doctor`."""

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
    """The same facts for programs, where the message holds more than text."""
