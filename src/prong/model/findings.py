"""Findings of `prong doctor`, and states of what it checks."""

from collections.abc import Mapping
from enum import StrEnum

from prong.model.record import Record, field


class Level(StrEnum):
    OK = "ok"
    NOTE = "note"
    WARNING = "warning"


class SetupState(StrEnum):
    """State of an agent's hooks, of an MCP registration, or of a scheduled job."""

    INSTALLED = "installed"
    OUTDATED = "outdated"
    """It is incomplete, or calls another prong."""
    OFF = "off"
    """It exists, but its scheduler does not run it."""
    NONE = "none"
    UNKNOWN = "unknown"
    """It cannot be read, or its program does not answer."""


class Finding(Record, frozen=True):
    """One line of the report."""

    topic: str
    level: Level
    message: str
    hint: str | None = None
    details: Mapping[str, object] = field(default_factory=dict[str, object])
    """The same facts for programs, where the message holds more than text."""
