"""Changes to the user's files: shown in advance, backed up and reverted exactly.

These are agent settings that contain hooks or list trusted folders. The state folder keeps the
original content of each changed file. As long as nobody else has changed the file since, reverting
restores exactly the same bytes.
"""

import json
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from prong.errors import ConfigError, Corrupt, Dirty, External
from prong.files import atomic
from prong.files.regular import read_regular


@dataclass(frozen=True)
class Edit:
    """A change of one file. None means that the file does not exist."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def kind(self) -> str:
        if self.before == self.after:
            return "none"
        if self.before is None:
            return "create"
        return "delete" if self.after is None else "change"

    def diff(self) -> str:
        """Return a diff for display; undecodable bytes are replaced."""
        import difflib

        name = str(self.path)
        old, new = _lines(self.before), _lines(self.after)
        old_name = name if self.before is not None else "/dev/null"
        new_name = name if self.after is not None else "/dev/null"
        return "\n".join(difflib.unified_diff(old, new, old_name, new_name, lineterm=""))


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").decode("utf-8", "replace")
    # Not splitlines(), which also splits at characters that may be part of a string.
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def read(path: Path) -> bytes | None:
    try:
        return read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise External(
            f"{path} cannot be read: {error.strerror or error}", path=str(path)
        ) from None


class Backups:
    """Original contents of changed files: one record for each file and owner of a change."""

    def __init__(self, folder: Path, owner: str) -> None:
        self._folder = folder
        self._owner = owner

    def original(self, path: Path, content: bytes | None, stripped: bytes | None) -> bytes | None:
        """Return the file without the change: its backup, or `stripped` if others edited it."""
        record = self._record(path)
        if record is None or record.get("after") != _digest(content):
            return stripped
        if not record.get("existed"):
            return None
        saved = read(self._name(path, "before"))
        # Without the backup, the content with the change stripped is the next best.
        return saved if _digest(saved) == record.get("before") else stripped

    def where(self, path: Path) -> Path | None:
        """Return the backup of a file that existed before the change."""
        record = self._record(path)
        return self._name(path, "before") if record and record.get("existed") else None

    def install(self, edits: Sequence[Edit], originals: Sequence[bytes | None]) -> None:
        """Make the changes, all or none, and keep the originals."""
        for edit, original in zip(edits, originals, strict=True):
            _check(edit)
            self._keep(edit, original)
        _write_all(edits)

    def remove(self, edits: Sequence[Edit]) -> None:
        """Revert changes, all or none, and delete their records."""
        for edit in edits:
            _check(edit)
        records = [self._record(edit.path) or {} for edit in edits]
        folders = [folder for record in records for folder in record.get("folders", ())]
        _write_all(edits)
        for folder in reversed(folders):
            with suppress(OSError):  # in use by now
                Path(folder).rmdir()
        for edit in edits:
            self._name(edit.path, "before").unlink(missing_ok=True)
            self._name(edit.path, "json").unlink(missing_ok=True)

    def _keep(self, edit: Edit, original: bytes | None) -> None:
        missing = [parent for parent in edit.path.parents if not parent.exists()]
        previous = self._record(edit.path) or {}
        folders = [*map(str, reversed(missing)), *previous.get("folders", ())]
        record = {
            "path": str(edit.path),
            "existed": original is not None,
            "before": _digest(original),
            "after": _digest(edit.after),
            "folders": folders,
        }
        if original is not None:
            atomic.write_private(self._name(edit.path, "before"), original)
        atomic.write_private(self._name(edit.path, "json"), json.dumps(record).encode())

    def _record(self, path: Path) -> dict[str, Any] | None:
        content = read(self._name(path, "json"))
        try:
            record: Any = json.loads(content) if content else None
        except ValueError:
            return None
        return cast(dict[str, Any], record) if isinstance(record, dict) else None

    def _name(self, path: Path, kind: str) -> Path:
        import hashlib

        key = os.fsencode(f"{self._owner}\0{path.absolute()}")
        name = hashlib.sha256(key).hexdigest()[:16]
        return self._folder / f"{name}.{kind}"


def _digest(content: bytes | None) -> str | None:
    import hashlib

    return None if content is None else hashlib.sha256(content).hexdigest()


def _check(edit: Edit) -> None:
    """Raise before anything is written if the edit is impossible or not allowed."""
    path = edit.path
    try:
        status = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            message = f"{path} is a link that leads nowhere"
            raise Corrupt(message, path=str(path)) from None
    except OSError as error:
        raise External(f"{path}: {error.strerror}", path=str(path)) from None
    else:
        if not stat.S_ISREG(status.st_mode):
            raise Corrupt(f"{path} is not a file", path=str(path))
        # Respect a read-only mode even if writing would work: someone set it on purpose.
        if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
            hint = f"chmod u+w {path}"
            raise ConfigError(f"{path} is read-only", hint=hint, path=str(path))
    if read(path) != edit.before:
        message = f"{path} was changed just now; nothing was written"
        raise Dirty(message, hint="try again", path=str(path))


def _write_all(edits: Sequence[Edit]) -> None:
    applied: list[Edit] = []
    try:
        for edit in edits:
            # Check again: someone may have changed the file since.
            _check(edit)
            _replace(edit)
            applied.append(edit)
    except BaseException:
        for edit in reversed(applied):
            with suppress(OSError):
                _replace(Edit(edit.path, edit.after, edit.before))
        raise


def _replace(edit: Edit) -> None:
    if edit.before == edit.after:
        return
    # Keep links: replace their target.
    target = Path(os.path.realpath(edit.path))
    try:
        if edit.after is None:
            target.unlink(missing_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            like = target.stat() if target.exists() else None  # new files are private
            atomic.write(target, edit.after, like=like)
    except OSError as error:
        # Do not name the temporary file: the user does not know it.
        message = f"{edit.path} cannot be written: {error.strerror}"
        raise External(message, hint="it is as it was", path=str(target)) from error
    atomic.sync_folder(target.parent)


def change(edit: Edit) -> None:
    """Change one file. Raises `Dirty` if it has changed since the edit was made."""
    _check(edit)
    _replace(edit)
