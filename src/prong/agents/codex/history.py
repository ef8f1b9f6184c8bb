"""The rollout files that make up a session.

A native fork's file has no inherited turns: it names another rollout and a position in it, as does
the new file that a rewind starts. So a session is a list of segments, oldest first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from prong.agents import jsonl
from prong.agents.codex import rollout
from prong.agents.codex.library import Library
from prong.agents.codex.rollout import PROMPTS, EntryKind, Rollout, RolloutEntry
from prong.errors import Corrupt
from prong.model.record import Record
from prong.model.sessions import Skipped


class Segment(Record, dict=True):
    """The entries that one file contributes to a session."""

    path: Path
    rollout: Rollout
    entries: list[RolloutEntry]
    end: int | None = None
    """Only lines with lower ordinals belong to the session; None for all lines."""

    @cached_property
    def prompt_kind(self) -> EntryKind:
        """The form in which this file records prompts; newer versions repeat them in several."""
        kinds = {entry.kind for entry in self.rollout.entries}
        return next((kind for kind in PROMPTS if kind in kinds), EntryKind.USER_TEXT)

    @cached_property
    def has_items(self) -> bool:
        """Whether the file has messages to and from the model, not only events about them."""
        return any(entry.kind is EntryKind.ITEM for entry in self.rollout.entries)


Piece = tuple[Segment, RolloutEntry]
Recall = Callable[[Path, BinaryIO], Rollout | None]
"""A callback that returns the cached rollout of an unchanged file, or None."""


class OpenFiles:
    """Rollout files, each opened and read once and kept open until `close`."""

    def __init__(
        self, recall: Recall | None = None, known: Mapping[Path, Rollout] | None = None
    ) -> None:
        self._recall = recall
        self._files: dict[Path, BinaryIO] = {}
        self._rollouts: dict[Path, Rollout] = dict(known or {})

    def file(self, path: Path) -> BinaryIO:
        if path not in self._files:
            self._files[path] = jsonl.open_file(path)
        return self._files[path]

    def line(self, piece: Piece) -> bytes:
        segment, entry = piece
        file = self.file(segment.path)
        file.seek(entry.place.offset)
        return file.read(entry.place.length).rstrip(b"\n")

    def record(self, piece: Piece) -> dict[str, Any]:
        """Return a line as an object; an empty one if the file has changed."""
        segment, entry = piece
        return jsonl.read_at(self.file(segment.path), entry.place) or {}

    def load(self, path: Path) -> Rollout:
        if path not in self._rollouts:
            file = self.file(path)
            cached = self._recall(path, file) if self._recall else None
            self._rollouts[path] = cached or rollout.read(file)
        return self._rollouts[path]

    def named(self, path: Path) -> Rollout:
        """Load a file that the user named. Raises `NotFound` or `Corrupt`, not `OSError`."""
        if path not in self._rollouts and path not in self._files:
            self._files[path] = jsonl.open_named(path)
        return self.load(path)

    def remember(self, path: Path, rollout: Rollout) -> None:
        self._rollouts[path] = rollout

    def again(self) -> "OpenFiles":
        """Return a copy with the parsed rollouts and no open file."""
        return OpenFiles(known=self._rollouts)

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def segments(
    path: Path, files: OpenFiles, library: Library, skipped: list[Skipped]
) -> list[Segment]:
    """Return the segments of the session whose newest file is `path`."""
    newest = files.load(path)
    if newest.header is None and not newest.entries and newest.bad:
        raise Corrupt(f"nothing in {path} can be read", path=str(path))
    chain = [Segment(path, newest, newest.entries)]
    seen = {str(path)}
    header = newest.header
    end: int | None = None
    while header is not None and header.base is not None:
        base = library.find(header.base, beside=str(path))
        if base is None or base in seen:
            skipped.append(Skipped(path, f"the rollout it continues is missing: {header.base}"))
            break
        seen.add(base)
        try:
            inherited = files.load(Path(base))
        except OSError as error:
            skipped.append(Skipped(Path(base), error.strerror or str(error)))
            break
        # A fork may end within the turns that its base inherited, so the lower ordinal counts.
        end = header.base_end if end is None else min(end, header.base_end)
        kept = [e for e in inherited.entries if e.ordinal is None or e.ordinal < end]
        chain.insert(0, Segment(Path(base), inherited, kept, end))
        header = inherited.header
    for segment in chain:
        skipped.extend(Skipped(segment.path, reason, at) for at, reason in segment.rollout.bad)
    return chain


def pieces(chain: Iterable[Segment]) -> Iterator[Piece]:
    return ((segment, entry) for segment in chain for entry in segment.entries)
