"""Repair notes of a damaged state.db: one `damaged-<n>.json` next to each damaged file."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from prong.files import atomic
from prong.files.regular import read_regular
from prong.model.record import Record, asdict, replace


class Repair(Record, frozen=True):
    """A damaged file that was replaced by what could be salvaged from it."""

    damaged: str
    """The name of the damaged file, which is kept."""
    reason: str
    """What sqlite reported."""
    salvaged: Mapping[str, int]
    """Number of salvaged rows per table."""
    rebuilt: Mapping[str, int] | None = None
    """Number of records recreated from other sources; None before the attempt."""
    seen: bool = False
    """Whether `prong doctor` has reported it."""

    @property
    def message(self) -> str:
        rows = ", ".join(f"{count} {table}" for table, count in self.salvaged.items() if count)
        message = f"state.db was damaged ({self.reason}); salvaged: {rows or 'nothing'}"
        if self.rebuilt is not None:
            counts = ", ".join(f"{count} {kind}" for kind, count in self.rebuilt.items() if count)
            message += f"; rebuilt from git, session files and panes: {counts or 'nothing more'}"
        return f"{message}; the damaged file is kept as {self.damaged}: see prong doctor"


def kept(path: Path) -> list[Path]:
    """Return replaced damaged files, oldest first."""
    files = (one for one in path.parent.glob(f"{path.name}.damaged-*") if one.suffix[9:].isdigit())
    return sorted(files, key=lambda one: int(one.suffix[9:]))


def found(path: Path) -> list[Repair]:
    """Return the repairs noted for a database, oldest first."""
    repairs: list[Repair] = []
    for damaged in kept(path):
        with suppress(OSError, ValueError, TypeError, AttributeError):
            note: Any = json.loads(read_regular(_note(path, damaged.name)))
            note["damaged"] = damaged.name
            repairs.append(Repair(**note))
    return repairs


def save(path: Path, repair: Repair) -> None:
    note = _note(path, repair.damaged)
    atomic.write(note, json.dumps(asdict(repair)).encode() + b"\n")
    atomic.sync_folder(note.parent)


def mark_seen(path: Path) -> None:
    """Mark all repairs as reported, so that commands stop mentioning them."""
    for repair in found(path):
        if not repair.seen:
            save(path, replace(repair, seen=True))


def _note(path: Path, damaged: str) -> Path:
    return path.with_name(f"{damaged}.json")
