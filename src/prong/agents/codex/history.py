"""The lines of a session, wherever they stand.

A fork is a stub: its file names the rollout that it continues and where in it. A rewind starts a
new file of the same thread in the same way. So a session is a list of segments, oldest first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

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
    """Only lines with ordinals below this one belong to the session; None: all of them."""

    @cached_property
    def prompt_kind(self) -> EntryKind:
        """How this file writes prompts down: newer CLIs repeat them in several forms."""
        kinds = {entry.kind for entry in self.rollout.entries}
        return next((kind for kind in PROMPTS if kind in kinds), EntryKind.USER_TEXT)

    @cached_property
    def has_items(self) -> bool:
        """True when it has what was sent to and came from the model, not only events about it."""
        return any(entry.kind is EntryKind.ITEM for entry in self.rollout.entries)


Piece = tuple[Segment, RolloutEntry]


Recall = Callable[[Path, BinaryIO], Rollout | None]
"""Gives what was read of a file before, if it is still the same."""


class OpenFiles:
    """Rollout files, each opened and read once, and kept open until all are closed."""

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

    def load(self, path: Path) -> Rollout:
        """What a file says."""
        if path not in self._rollouts:
            file = self.file(path)
            known = self._recall(path, file) if self._recall else None
            self._rollouts[path] = known or rollout.read(file)
        return self._rollouts[path]

    def open_named(self, path: Path) -> BinaryIO:
        """A file that somebody asked for by name: a failure is told."""
        if path not in self._files:
            self._files[path] = jsonl.open_named(path)
        return self._files[path]

    def named(self, path: Path) -> Rollout:
        """The same of what it says."""
        if path not in self._rollouts:
            self.open_named(path)
        return self.load(path)

    def remember(self, path: Path, rollout: Rollout) -> None:
        """What a file is known to say."""
        self._rollouts[path] = rollout

    def again(self) -> "OpenFiles":
        """All that was read, with no file open: it outlives this one."""
        return OpenFiles(known=self._rollouts)

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def segments(
    path: Path, files: OpenFiles, library: Library, skipped: list[Skipped]
) -> list[Segment]:
    """The segments of the session that lives in a file, which was opened already."""
    own = files.load(path)
    if own.header is None and not own.entries and own.bad:
        raise Corrupt(f"nothing in {path} can be read", path=str(path))
    chain = [Segment(path, own, own.entries)]
    seen = {str(path)}
    header = own.header
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
        # The first cut may lie before a later one, in what the base itself inherited.
        end = header.base_end if end is None else min(end, header.base_end)
        kept = [e for e in inherited.entries if e.ordinal is None or e.ordinal < end]
        chain.insert(0, Segment(Path(base), inherited, kept, end))
        header = inherited.header
    for segment in chain:
        skipped.extend(Skipped(segment.path, reason, at) for at, reason in segment.rollout.bad)
    return chain


def pieces(chain: Iterable[Segment]) -> Iterator[Piece]:
    for segment in chain:
        for entry in segment.entries:
            yield segment, entry
