"""Find the rollout files and index them by name."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from prong.files.regular import read_regular
from prong.model.record import Record
from prong.redaction.visible import safe

_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_NAME = re.compile(
    rf"rollout-(\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d)-({_UUID})(?:_({_UUID}))?\.jsonl(\.zst)?"
)


class RolloutName(Record, frozen=True):
    """The parts of a rollout file's name."""

    time: str
    thread: str
    rollout: str
    """The id of the segment after a rewind, else that of the thread."""
    packed: bool

    @classmethod
    def parse(cls, name: str) -> "RolloutName | None":
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        return cls(match[1], match[2], match[3] or match[2], bool(match[4]))


class Library:
    """The rollout files of several roots, indexed by name without opening them.

    A root may be a copy of another one, such as a backup, so the files of a thread belong together
    only within one root.
    """

    def __init__(self, roots: Iterable[Path]) -> None:
        self.complete = True
        self.shelves = {root: RolloutLibrary(root) for root in roots}
        for shelf in self.shelves.values():
            self.complete = shelf.complete and self.complete

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        for shelf in self.shelves.values():
            yield from shelf.stats.items()

    def shelf_of(self, path: str) -> "RolloutLibrary | None":
        return next((shelf for shelf in self.shelves.values() if path in shelf.stats), None)

    def find(self, rollout: str, beside: str) -> str | None:
        """Return the file of a rollout, preferably in the same root as the file `beside`."""
        own = self.shelf_of(beside)
        shelves = [own, *self.shelves.values()] if own else list(self.shelves.values())
        return next((s.by_rollout[rollout] for s in shelves if rollout in s.by_rollout), None)

    def thread(self, thread: str, beside: str) -> list[str]:
        """Return the files of a thread in the same root as the file `beside`."""
        shelf = self.shelf_of(beside)
        return shelf.by_thread.get(thread, []) if shelf else []


class RolloutLibrary:
    """The rollout files of one root."""

    def __init__(self, root: Path) -> None:
        self.complete = True
        self.found = False
        self.by_rollout: dict[str, str] = {}
        self.by_thread: dict[str, list[str]] = {}
        self.stats: dict[str, os.stat_result] = {}
        for folder in ("sessions", "archived_sessions"):
            self._walk(str(root / folder))

    def add(self, path: str, name: RolloutName, stat: os.stat_result) -> None:
        twin = path.removesuffix(".zst") if name.packed else f"{path}.zst"
        if twin in self.stats:
            # Codex unpacks beside the archive, then removes it; until then, the plain file counts.
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
                elif name := RolloutName.parse(entry.name):
                    self.add(entry.path, name, entry.stat())
            except FileNotFoundError:
                continue
            except OSError:
                self.complete = False


def rollout_id(path: str) -> str:
    """Return the rollout id in a file's name, or the name itself if it has none."""
    name = RolloutName.parse(os.path.basename(path))
    return name.rollout if name else os.path.basename(path)


class _Name(msgspec.Struct):
    id: str
    thread_name: str | None = None


def names(roots: Sequence[Path]) -> dict[str, str]:
    """Return the names that users or Codex gave to threads; the last line for an id counts."""
    names: dict[str, str] = {}
    decode = msgspec.json.Decoder(_Name).decode
    for root in roots:
        try:
            lines = read_regular(root / "session_index.jsonl").split(b"\n")
        except OSError:
            continue
        for line in lines:
            try:
                name = decode(line)
            except (ValueError, RecursionError):
                continue
            if name.thread_name:
                names[name.id] = safe(name.thread_name)
    return names


def default_root() -> Path:
    configured = os.environ.get("CODEX_HOME")
    return Path(configured) if configured else Path.home() / ".codex"
