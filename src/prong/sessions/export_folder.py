"""A folder of exports: which file is whose, and files that appear whole or not at all.

`.prong-export.json` in it says which session each file came from, and what the session was like
then. It only saves work: every file that prong wrote ends with a line that tells so, with a digest
of what stands above. By that a file of ours is known, and one that somebody changed since is not
ours any more.
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
from prong.files.edits import write_private
from prong.files.journal import sync_folder
from prong.files.lock import locked
from prong.files.regular import open_regular, read_regular
from prong.model.record import Record
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
    """What is known of an export."""

    file: str
    """Below the folder."""
    stamp: str
    """Differs when the session differs, or the way it is written."""
    source: str
    """The session file."""


class ExportFolder:
    """The folder, as it was found. Entries that are changed are kept by `save`."""

    def __init__(self, path: Path) -> None:
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is not a folder", path=str(path))
        self.path = path
        self.entries = self._read()
        self._touched: set[Path] = set()
        self._owners = {entry.file: ref for ref, entry in self.entries.items()}

    @contextmanager
    def writing(self) -> Generator[None]:
        """Make the folder, and be its only writer until the block ends; then save."""
        private_dir(self.path)
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if not locked(descriptor, _PATIENCE):
                raise Busy(f"another prong is writing into {self.path}", hint="wait until it ends")
            for left in self.path.glob(f"{_STAGED}*.tmp"):
                left.unlink(missing_ok=True)  # of a run that was killed
            try:
                yield
            finally:
                # Also when somebody has enough of it: what is written need not be written again.
                for folder in self._touched:
                    sync_folder(folder)
                self.save()
        finally:
            os.close(descriptor)

    def place(self, session: Session) -> str:
        """Where a session goes, below the folder; always to the same place."""
        known = self.entries.get(str(session.ref))
        if known is not None:
            return known.file
        # A key in a path is known before it is made a name, and not afterwards.
        folder = _slug(safe((session.cwds or (session.cwd or "",))[0].strip("/"))) or "unknown"
        name = session.id if _ID.fullmatch(session.id) else _slug(session.id) or "session"
        file = f"{folder}/{name}.md"
        if self._owners.setdefault(file, str(session.ref)) != str(session.ref):
            # The same id with two agents.
            file = f"{folder}/{name}-{_slug(session.agent)}.md"
            self._owners[file] = str(session.ref)
        return file

    def obstacle(self, file: str) -> str | None:
        """Why nothing can be written there; None where nothing is, or a file of ours."""
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
        """Write a file, or leave it when it is the same already; True when it was written."""
        target = self.path / file
        content = text.encode("utf-8", "replace")
        content += b"\n<!-- prong export sha256:" + _digest(content).encode() + b" -->\n"
        replaced = target.exists()
        if replaced and target.is_file() and target.read_bytes() == content:
            return False
        private_dir(target.parent)
        staged = self.path / f"{_STAGED}{secrets.token_hex(8)}.tmp"
        descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as writing:
                writing.write(content)
                writing.flush()
                os.fsync(writing.fileno())
            if replaced:
                staged.replace(target)
            else:
                _move_to_new(staged, target)
        finally:
            staged.unlink(missing_ok=True)
        self._touched.add(target.parent)
        return True

    def remove(self, ref: str) -> None:
        """Take an export away that is of no session any more."""
        path = self.path / self.entries.pop(ref).file
        path.unlink(missing_ok=True)
        if path.parent != self.path:
            with suppress(OSError):  # there is more in it
                path.parent.rmdir()

    def forget(self, ref: str) -> None:
        self.entries.pop(ref, None)

    def save(self) -> None:
        known = {
            ref: {"file": entry.file, "stamp": entry.stamp, "source": entry.source}
            for ref, entry in sorted(self.entries.items())
        }
        text = json.dumps({"version": _VERSION, "sessions": known}, indent=1)
        write_private(self.path / MANIFEST, text.encode())

    def _read(self) -> dict[str, ExportEntry]:
        try:
            content: Any = json.loads(read_regular(self.path / MANIFEST))
            if content["version"] == _VERSION:
                return dict(_entries(content["sessions"]))
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            pass  # damaged: the files themselves tell the rest
        return dict(self._found())

    def _found(self) -> Iterator[tuple[str, ExportEntry]]:
        """Our files as they lie there; what the sessions were like is not known."""
        for path in sorted(self.path.glob("*/*.md")):
            with suppress(OSError):
                if path.is_symlink() or not self._is_ours(path):
                    continue
                with open_regular(path) as reading:
                    head = reading.read(_HEAD).decode("utf-8", "replace")
                fields = dict(_HEADER.findall(head)[:2])
                if len(fields) == 2:
                    ref = f"{fields['Agent']}:{fields['Session ID']}"
                    yield ref, ExportEntry(str(path.relative_to(self.path)), "", "")

    def _is_ours(self, path: Path) -> bool:
        content = read_regular(path)
        found = _TRAILER.search(content, max(len(content) - _TRAILER_LENGTH, 0))
        if found is None:
            return False
        return _digest(content[: found.start() - 1]).encode() == found[1]


def _entries(sessions: dict[str, Any]) -> Iterator[tuple[str, ExportEntry]]:
    for ref, value in sessions.items():
        fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
        entry = ExportEntry(*(str(fields.get(name, "")) for name in ("file", "stamp", "source")))
        # A name that leads out of the folder is none that we wrote down.
        parts = entry.file.split("/")
        if len(parts) == 2 and parts[1].endswith(".md") and not {"", ".", ".."} & set(parts):
            yield ref, entry


def _move_to_new(staged: Path, target: Path) -> None:
    """Raises `FileExistsError` when somebody was faster; a rename would replace what is there."""
    try:
        os.link(staged, target)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has links.
        if target.exists():
            raise FileExistsError(target) from None
        staged.rename(target)


def _slug(text: str) -> str:
    """A name for a file or a folder, of letters and digits; a long one ends with its digest."""
    slug = re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")
    if len(slug) > _LONGEST or (text and not slug):
        slug = f"{slug[: _LONGEST - 9]}-{_digest(os.fsencode(text))[:8]}".lstrip("-")
    return slug


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
