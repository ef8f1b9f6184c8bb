"""Find the rollout files and index them by name."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from prong.files.regular import read_regular
from prong.model.record import Record
from prong.redaction.visible import safe

_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_NAME = re.compile(
    rf"rollout-\d{{4}}-\d\d-\d\dT\d\d-\d\d-\d\d-({_UUID})(?:_({_UUID}))?\.jsonl(\.zst)?"
)


class RolloutName(Record, frozen=True):
    """The parts of a rollout file's name."""

    thread: str
    rollout: str
    """The id of the segment after a rewind, else that of the thread."""
    packed: bool

    @classmethod
    def parse(cls, name: str) -> "RolloutName | None":
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        return cls(match[1], match[2] or match[1], bool(match[3]))


class Library:
    """The rollout files of several roots, indexed by name without opening them.

    A root may be a copy of another one, such as a backup, so the files of a thread belong together
    only within one root.
    """

    def __init__(self, roots: Iterable[Path]) -> None:
        self.complete = True
        self.missing: set[Path] = set()
        """Roots without a folder of sessions."""
        self.stats: dict[str, os.stat_result] = {}
        self.threads: dict[tuple[Path, str], list[str]] = {}
        self._rollouts: dict[tuple[Path, str], str] = {}
        self._roots: dict[str, Path] = {}
        """The root of each file."""
        self._all_roots = list(dict.fromkeys(roots))
        for root in self._all_roots:
            found = [
                self._walk(root, str(root / name)) for name in ("sessions", "archived_sessions")
            ]
            if not any(found):
                self.missing.add(root)

    def root_of(self, path: str) -> Path | None:
        return self._roots.get(path)

    def find(self, rollout: str, beside: str) -> str | None:
        """Return the file of a rollout, preferably in the same root as the file `beside`."""
        own = self._roots.get(beside)
        roots = [own, *self._all_roots] if own else self._all_roots
        found = (self._rollouts.get((root, rollout)) for root in roots)
        return next(filter(None, found), None)

    def siblings(self, path: str) -> list[str]:
        """Return the files of the thread that a file's name says, in the same root."""
        name = RolloutName.parse(os.path.basename(path))
        return self.thread(name.thread, beside=path) if name else []

    def thread(self, thread: str, beside: str) -> list[str]:
        """Return the files of a thread in the same root as the file `beside`."""
        root = self._roots.get(beside)
        return self.threads.get((root, thread), []) if root else []

    def _walk(self, root: Path, folder: str) -> bool:
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            self.complete = self.complete and isinstance(error, FileNotFoundError)
            return False
        for entry in entries:
            try:
                if entry.is_dir():
                    self._walk(root, entry.path)
                elif name := RolloutName.parse(entry.name):
                    self._add(root, entry.path, name, entry.stat())
            except FileNotFoundError:
                continue
            except OSError:
                self.complete = False
        return True

    def _add(self, root: Path, path: str, name: RolloutName, stat: os.stat_result) -> None:
        twin = path.removesuffix(".zst") if name.packed else f"{path}.zst"
        if twin in self.stats:
            # Codex unpacks beside the archive, then removes it; until then, the plain file counts.
            if name.packed:
                return
            del self.stats[twin]
            self.threads[root, name.thread].remove(twin)
            self._rollouts.pop((root, name.rollout), None)
        self._rollouts.setdefault((root, name.rollout), path)
        self.threads.setdefault((root, name.thread), []).append(path)
        self.stats[path] = stat
        self._roots[path] = root


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
