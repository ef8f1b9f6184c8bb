"""Export folder: maps sessions to files, and writes files atomically.

`.prong-export.json` maps each session to its file and state, only to save work: every file that
prong writes ends with a digest of its content, which identifies it. A file that was changed by
someone else no longer matches, and prong leaves it alone.
"""

import json
import os
import re
import secrets
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from prong.errors import Busy, UsageError
from prong.files import atomic
from prong.files.atomic import held, sync_folder
from prong.files.regular import open_regular, read_regular
from prong.model.record import Record, asdict
from prong.model.sessions import Session
from prong.paths import private_dir
from prong.redaction.visible import safe

MANIFEST = ".prong-export.json"
_VERSION = 1
_STAGED = ".prong-export-"
_PATIENCE = 2.0
_LONGEST = 120
_TRAILER = re.compile(rb"<!-- prong export sha256:([0-9a-f]{64}) -->\n\Z")
_TRAILER_LENGTH = 100
_HEADER = re.compile(r"^(Session ID|Agent): (\S+)$", re.MULTILINE)
_HEAD = 4096
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


class ExportEntry(Record, frozen=True):
    """An entry of the export manifest."""

    file: str
    """Path relative to the folder."""
    stamp: str
    """Changes with the session, or with the export format."""
    source: str
    """Path of the session file."""


class ExportFolder:
    """An export folder. Changes to `entries` are stored by `save`."""

    def __init__(self, path: Path) -> None:
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is not a folder", path=str(path))
        self.path = path
        self.entries = self._read()
        self._touched: set[Path] = set()
        self._owners = {entry.file: ref for ref, entry in self.entries.items()}

    @contextmanager
    def writing(self) -> Generator[None]:
        """Create and lock the folder for writing, and save the entries at the end."""
        private_dir(self.path)
        with held(self.path, _PATIENCE) as is_free:
            if not is_free:
                raise Busy(f"another prong is writing into {self.path}", hint="wait until it ends")
            for leftover in self.path.glob(f"{_STAGED}*.tmp"):
                leftover.unlink(missing_ok=True)  # left by a killed run
            try:
                yield
            finally:
                # Also after an interrupt, so that finished files are not written again.
                for folder in self._touched:
                    sync_folder(folder)
                self.save()

    def place(self, session: Session) -> str:
        """Choose the file of a session, relative to the folder; always the same one."""
        entry = self.entries.get(str(session.ref))
        if entry is not None:
            return entry.file
        # Secrets must be masked before the slug makes them unrecognizable.
        folder = _slug(safe((session.cwds or (session.cwd or "",))[0].strip("/"))) or "unknown"
        name = session.id if _ID.fullmatch(session.id) else _slug(session.id) or "session"
        file = f"{folder}/{name}.md"
        if self._owners.setdefault(file, str(session.ref)) != str(session.ref):
            # Two agents have a session with the same id.
            file = f"{folder}/{name}-{_slug(session.agent)}.md"
            self._owners[file] = str(session.ref)
        return file

    def obstacle(self, file: str) -> str | None:
        """Explain why a file cannot be written; None if it is free or ours."""
        path = self.path / file
        if path.parent.is_symlink():
            return "its folder is a link"
        if path.parent.exists() and not path.parent.is_dir():
            return "a file is where its folder would be"
        try:
            status = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return "it is not a file"
        return None if self._is_ours(path) else "prong did not write it, or it was changed since"

    def has(self, file: str) -> bool:
        return (self.path / file).is_file()

    def write(self, file: str, text: str) -> bool:
        """Write a file unless its content is already the same; True if it was written."""
        target = self.path / file
        content = text.encode("utf-8", "replace")
        content += b"\n<!-- prong export sha256:" + _digest(content).encode() + b" -->\n"
        exists = target.exists()
        if exists and target.is_file() and target.read_bytes() == content:
            return False
        private_dir(target.parent)
        staged = self.path / f"{_STAGED}{secrets.token_hex(8)}.tmp"
        try:
            atomic.write_new(staged, content)
            if exists:
                staged.replace(target)
            else:
                atomic.link_new(staged, target)
        finally:
            staged.unlink(missing_ok=True)
        self._touched.add(target.parent)
        return True

    def remove(self, ref: str) -> None:
        """Delete the export of a deleted session."""
        path = self.path / self.entries.pop(ref).file
        path.unlink(missing_ok=True)
        if path.parent != self.path:
            with suppress(OSError):  # not empty
                path.parent.rmdir()

    def save(self) -> None:
        sessions = {ref: asdict(entry) for ref, entry in sorted(self.entries.items())}
        text = json.dumps({"version": _VERSION, "sessions": sessions}, indent=1)
        atomic.write_private(self.path / MANIFEST, text.encode())

    def _read(self) -> dict[str, ExportEntry]:
        try:
            content: Any = json.loads(read_regular(self.path / MANIFEST))
            if content["version"] == _VERSION:
                return dict(_entries(content["sessions"]))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            pass  # missing or damaged: recover from the files themselves
        return dict(self._found())

    def _found(self) -> Iterator[tuple[str, ExportEntry]]:
        """Recover entries from the exported files, without their stamps."""
        for path in sorted(self.path.glob("*/*.md")):
            with suppress(OSError):
                if path.is_symlink() or not self._is_ours(path):
                    continue
                with open_regular(path) as file:
                    head = file.read(_HEAD).decode("utf-8", "replace")
                fields = dict(_HEADER.findall(head)[:2])
                if len(fields) == 2:
                    ref = f"{fields['Agent']}:{fields['Session ID']}"
                    yield ref, ExportEntry(str(path.relative_to(self.path)), "", "")

    def _is_ours(self, path: Path) -> bool:
        content = read_regular(path)
        trailer = _TRAILER.search(content, max(len(content) - _TRAILER_LENGTH, 0))
        if trailer is None:
            return False
        return _digest(content[: trailer.start() - 1]).encode() == trailer[1]


def _entries(sessions: dict[str, Any]) -> Iterator[tuple[str, ExportEntry]]:
    for ref, value in sessions.items():
        fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
        entry = ExportEntry(*(str(fields.get(name, "")) for name in ("file", "stamp", "source")))
        # A path that leaves the folder was not written by prong.
        parts = entry.file.split("/")
        if len(parts) == 2 and parts[1].endswith(".md") and not {"", ".", ".."} & set(parts):
            yield ref, entry


def _slug(text: str) -> str:
    """Build a file name of letters and digits; a long one is cut and ends with a digest."""
    slug = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")
    if len(slug) > _LONGEST or (text and not slug):
        slug = f"{slug[: _LONGEST - 9]}-{_digest(os.fsencode(text))[:8]}".lstrip("-")
    return slug


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
