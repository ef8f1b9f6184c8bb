"""What came of a fork's method."""

from pathlib import Path

from prong.record import Record


class Made(Record, frozen=True):
    id: str
    path: Path | None = None
    """None when the agent writes the file itself, with the first prompt."""
    seed_hash: str | None = None
    acknowledged: bool = False
    """The agent's `Ready.` came and was kept out of sight."""
    warnings: tuple[str, ...] = ()
