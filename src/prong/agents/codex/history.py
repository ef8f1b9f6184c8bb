"""The lines of a session, wherever they stand.

A fork is a stub: its file names the rollout that it continues and where in it. A rewind starts a
new file of the same thread in the same way. So a session is a list of segments, oldest first.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from prong.agents import jsonl
from prong.agents.codex import rollout
from prong.agents.codex.rollout import PROMPTS, Entry, Kind, Rollout
from prong.errors import Corrupt
from prong.model import Skipped

_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_NAME = re.compile(
    rf"rollout-(\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d)-({_UUID})(?:_({_UUID}))?\.jsonl(\.zst)?"
)


@dataclass(frozen=True)
class FileName:
    """What the name of a rollout file says."""

    time: str
    thread: str
    rollout: str
    """The segment's own id after a rewind, else the thread's."""
    packed: bool

    @classmethod
    def parse(cls, name: str) -> "FileName | None":
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        return cls(found[1], found[2], found[3] or found[2], bool(found[4]))


class Library:
    """The rollout files under some roots. Knows names only; opens nothing.

    A root may be a copy of another one, from another machine or a backup: files of one thread
    belong together only within a root.
    """

    def __init__(self, roots: Iterable[Path]) -> None:
        self.complete = True
        self.shelves = {root: Shelf(root) for root in roots}
        for shelf in self.shelves.values():
            self.complete = shelf.complete and self.complete

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        for shelf in self.shelves.values():
            yield from shelf.stats.items()

    def shelf_of(self, path: str) -> "Shelf | None":
        return next((shelf for shelf in self.shelves.values() if path in shelf.stats), None)

    def find(self, rollout: str, beside: str) -> str | None:
        """The file of a rollout: of the same root as another file, else of any."""
        own = self.shelf_of(beside)
        shelves = [own, *self.shelves.values()] if own else list(self.shelves.values())
        return next((s.by_rollout[rollout] for s in shelves if rollout in s.by_rollout), None)

    def thread(self, thread: str, beside: str) -> list[str]:
        """The files of a thread in the root of another file."""
        shelf = self.shelf_of(beside)
        return shelf.by_thread.get(thread, []) if shelf else []


class Shelf:
    """The rollout files of one root."""

    def __init__(self, root: Path) -> None:
        self.complete = True
        self.found = False
        self.by_rollout: dict[str, str] = {}
        self.by_thread: dict[str, list[str]] = {}
        self.stats: dict[str, os.stat_result] = {}
        for folder in ("sessions", "archived_sessions"):
            self._walk(str(root / folder))

    def add(self, path: str, name: FileName, stat: os.stat_result) -> None:
        twin = path.removesuffix(".zst") if name.packed else f"{path}.zst"
        if twin in self.stats:
            # Codex unpacks an archive beside it and then removes it; the plain file is the truth.
            if name.packed:
                return
            del self.stats[twin]
            self.by_thread[name.thread].remove(twin)
            self.by_rollout.pop(name.rollout, None)
        self.by_rollout.setdefault(name.rollout, path)
        self.by_thread.setdefault(name.thread, []).append(path)
        self.stats[path] = stat

    def _walk(self, folder: str) -> None:
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except FileNotFoundError:
            return
        except OSError:
            self.complete = False
            return
        self.found = True
        for entry in entries:
            try:
                if entry.is_dir():
                    self._walk(entry.path)
                elif name := FileName.parse(entry.name):
                    self.add(entry.path, name, entry.stat())
            except FileNotFoundError:
                continue
            except OSError:
                self.complete = False


def rollout_id(path: str) -> str:
    """The rollout id in a file's name; the name itself when it is of another kind."""
    name = FileName.parse(os.path.basename(path))
    return name.rollout if name else os.path.basename(path)


@dataclass
class Segment:
    """The entries that one file contributes to a session."""

    path: Path
    rollout: Rollout
    entries: list[Entry]
    end: int | None = None
    """Only lines with ordinals below this one belong to the session; None: all of them."""

    @cached_property
    def prompt_kind(self) -> Kind:
        """How this file writes prompts down: newer CLIs repeat them in several forms."""
        kinds = {entry.kind for entry in self.rollout.entries}
        return next((kind for kind in PROMPTS if kind in kinds), Kind.USER_TEXT)

    @cached_property
    def has_items(self) -> bool:
        """True when it has what was sent to and came from the model, not only events about it."""
        return any(entry.kind is Kind.ITEM for entry in self.rollout.entries)


Piece = tuple[Segment, Entry]


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
