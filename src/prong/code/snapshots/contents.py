"""Changed files of the working tree, read and streamed to git."""

import os
from contextlib import suppress

from prong.code.files import LINK, Refusal, mode_of, read
from prong.code.git import Deadline
from prong.code.snapshots.fast_import import Import, ImportedEntry
from prong.code.snapshots.known_files import Known
from prong.code.snapshots.message import LISTED
from prong.model.code import LeftOut

_NAMED = 3
"""Maximum number of files named in a note."""


_REFUSED = b".git"
_REFUSED_LINK = b".gitmodules"
"""Names that git accepts in no index: a tree with them could not be checked out."""


class Contents:
    """Reads changed files and sends their content to the stream."""

    def __init__(
        self, top: bytes, stream: Import, known: Known, deadline: Deadline, limit: int
    ) -> None:
        self._top = top
        self._stream = stream
        self._known = known
        self._deadline = deadline
        self._limit = limit
        self.entries: list[ImportedEntry] = []
        self.gone: list[bytes] = []
        self.left_out: list[LeftOut] = []
        self.learned: list[tuple[bytes, os.stat_result, str]] = []
        self._torn: list[bytes] = []
        self._late = 0

    def read(self, modified: dict[bytes, bytes | None]) -> None:
        for path, mode in modified.items():
            self._read(path, mode)

    def notes(self) -> list[str]:
        notes: list[str] = []
        if self._torn:
            names = ", ".join(os.fsdecode(path) for path in self._torn[:_NAMED])
            suffix = f" and {len(self._torn) - _NAMED} more" if len(self._torn) > _NAMED else ""
            notes.append(f"written while they were read: {names}{suffix}")
        if self._late:
            notes.append(f"out of time: {self._late} files were not read")
        return notes

    def _read(self, path: bytes, mode: bytes | None) -> None:
        full = b"%s/%s" % (self._top, path)
        if self._deadline.over:
            self._late += 1
            # Even asking for sizes takes time, so only for files that will be listed.
            named = len(self.left_out) < LISTED
            self._leave_out(path, _size(full) if named else 0, "out of time")
            return
        names = path.lower().split(b"/")
        if _REFUSED in names:
            self._leave_out(path, _size(full), "git takes no file of this name")
            return
        with suppress(OSError):
            status = os.lstat(full)
            blob = self._known.blob(path, status)
            if blob is not None and status.st_size <= self._limit:
                self.entries.append(ImportedEntry(mode or mode_of(status), blob, path))
                return
        result = read(full, self._limit)
        if result is None:
            self.gone.append(path)
        elif isinstance(result, Refusal):
            self._leave_out(path, result.size, result.reason)
        elif result.mode == LINK and _REFUSED_LINK in names:
            self._leave_out(path, 0, "git takes no link of this name")
        else:
            mark = self._stream.blob(result.data)
            self.entries.append(ImportedEntry(mode or result.mode, mark, path))
            if result.steady:
                self.learned.append((path, result.stat, mark))
            else:
                self._torn.append(path)

    def _leave_out(self, path: bytes, size: int, reason: str) -> None:
        self.left_out.append(LeftOut(os.fsdecode(path), size, reason))


def _size(path: bytes) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
