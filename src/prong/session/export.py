"""Markdown export of sessions: one file each, written only when the session has changed."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from enum import StrEnum
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from prong.errors import External, ProngError, UsageError
from prong.files.regular import read_regular
from prong.model.record import Record, replace
from prong.model.search import IndexProgress
from prong.model.sessions import Message, Session, SessionRef
from prong.redaction.secrets import mask
from prong.session.export_folder import ExportEntry, ExportFolder
from prong.session.folder_names import pure_path
from prong.session.listing import Listing
from prong.session.transcript import paired
from prong.transcripts import markdown

_FORMAT = "3"
"""Increase it when the Markdown changes, to write all exports again."""
_WRITERS = 8
_SAVED_EVERY = 5.0
"""Save interval in seconds."""


class ExportState(StrEnum):
    """Outcome of exporting a session."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    """The target is not a file that prong wrote."""
    FAILED = "failed"
    """The session cannot be read."""


_TO_WRITE = (ExportState.NEW, ExportState.CHANGED)


class Export(Record, frozen=True):
    session: Session
    path: Path
    state: ExportState
    entry: ExportEntry
    """What the folder records of it once it is written."""
    reason: str | None = None
    """Why it was refused or failed."""


class Stale(Record, frozen=True):
    """An export whose session no longer exists."""

    ref: str
    path: Path
    removable: bool
    """False if the file was changed by someone else."""


class ExportPlan(Record, frozen=True):
    """What an export would do. Planning writes nothing and reads no transcript."""

    folder: Path
    exports: tuple[Export, ...]
    stale: tuple[Stale, ...] = ()
    masked: bool = True
    prune: bool = False
    hidden: int = 0
    """Number of matching sessions that are archived or headless."""

    def of(self, *states: ExportState) -> tuple[Export, ...]:
        return tuple(item for item in self.exports if item.state in states)

    @property
    def changed(self) -> tuple[Export, ...]:
        return self.of(*_TO_WRITE)

    @property
    def pruned(self) -> tuple[Stale, ...]:
        return tuple(item for item in self.stale if self.prune and item.removable)


Roots = Callable[[str | None], Iterable[Path]]
"""The roots of one agent, or of all."""


def plan(
    folder: Path, listing: Listing, roots: Roots, *, agent: str | None, masked: bool, prune: bool
) -> ExportPlan:
    """Find the sessions that changed since they were exported."""
    folder = Path(os.path.abspath(folder))  # noqa: PTH100 -- links in it stay, `..` goes
    exported = ExportFolder(folder)
    exports = tuple(_looked_at(exported, each, masked) for each in listing.sessions)
    stale = tuple(_stale(exported, listing, roots, agent))
    return ExportPlan(folder, exports, stale, masked, prune, listing.hidden)


def export(
    planned: ExportPlan,
    messages: Callable[[Session], Iterable[Message]],
    progress: Callable[[IndexProgress], None],
) -> ExportPlan:
    """Run a planned export, and return the plan with the outcomes.

    Can be interrupted at any time: finished files are complete, and the next run continues.
    """
    # Reopened, to notice changes since planning.
    folder = ExportFolder(planned.folder)
    pending = planned.changed
    total = sum(item.session.size for item in pending)
    read = 0
    saved = time.monotonic()
    writer = _Writer(folder, masked=planned.masked)
    try:
        with folder.writing():
            with writer:
                for number, item in enumerate(pending):
                    progress(IndexProgress("sessions", number, len(pending), read, total))
                    writer.add(_looked_at(folder, item.session, planned.masked), messages)
                    read += item.session.size
                    if time.monotonic() - saved > _SAVED_EVERY:
                        # In case this run is killed, the next one skips what is saved.
                        folder.save()
                        saved = time.monotonic()
            for stale in planned.pruned:
                file = str(stale.path.relative_to(planned.folder))
                if stale.ref in folder.entries and folder.obstacle(file) is None:
                    folder.remove(stale.ref)
    except OSError as error:
        raise External(
            f"{error.filename or planned.folder} cannot be written: {error.strerror}",
            hint="what was exported until then is whole",
            path=str(error.filename or planned.folder),
        ) from error
    return replace(
        planned, exports=tuple(writer.done.get(item.session.ref, item) for item in planned.exports)
    )


class _Writer:
    """Writes files in the background while sessions are read, because syncing to disk is slow."""

    def __init__(self, folder: ExportFolder, *, masked: bool) -> None:
        self.done: dict[SessionRef, Export] = {}
        self._folder = folder
        self._mask: Callable[[str], str] = mask if masked else lambda text: text
        self._pool = ThreadPoolExecutor(_WRITERS)
        self._waiting: deque[tuple[Export, Future[bool]]] = deque()

    def add(self, export: Export, messages: Callable[[Session], Iterable[Message]]) -> None:
        """Read a session, and write its export unless that is refused."""
        self.done[export.session.ref] = export
        if export.state not in _TO_WRITE:
            return
        try:
            text = "".join(
                markdown.document(
                    export.session,
                    paired(messages(export.session)),
                    repo=repository_name(export.session.cwd),
                    mask=self._mask,
                )
            )
        except (ProngError, OSError) as error:
            told = error.message if isinstance(error, ProngError) else error.strerror
            self._end(export, ExportState.FAILED, told or str(error))
            return
        future = self._pool.submit(self._folder.write, export.entry.file, text)
        self._waiting.append((export, future))
        while len(self._waiting) > _WRITERS:
            self._settle()

    def _settle(self) -> None:
        export, future = self._waiting.popleft()
        try:
            written = future.result()
        except FileExistsError:
            self._end(export, ExportState.REFUSED, "it was changed just now")
            return
        self._folder.entries[str(export.session.ref)] = export.entry
        self._end(export, export.state if written else ExportState.UNCHANGED)

    def _end(self, export: Export, state: ExportState, reason: str | None = None) -> None:
        self.done[export.session.ref] = replace(export, state=state, reason=reason)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            while self._waiting:
                self._settle()
        finally:
            self._pool.shutdown()


def refuse_agent_folders(folder: Path, roots: Iterable[Path]) -> None:
    """Raise `UsageError` for a folder that belongs to an agent."""
    real = Path(os.path.realpath(folder))
    for root in roots:
        if real.is_relative_to(os.path.realpath(root)):
            raise UsageError(
                f"{folder} belongs to an agent, and nothing is written there",
                hint="prong export ~/claude-sessions-md",
            )


def _looked_at(folder: ExportFolder, session: Session, masked: bool) -> Export:  # noqa: FBT001
    file = folder.place(session)
    # Taken before reading, so that lines appended meanwhile show as a change next time.
    entry = ExportEntry(file, _stamp(session, masked=masked), session.file)
    old = folder.entries.get(str(session.ref))
    is_exported = old is not None and folder.has(file)
    reason = None
    if old is not None and is_exported and old.stamp == entry.stamp:
        state = ExportState.UNCHANGED
    elif reason := folder.obstacle(file):
        state = ExportState.REFUSED
    else:
        state = ExportState.CHANGED if is_exported else ExportState.NEW
    return Export(session, folder.path / file, state, entry, reason)


def _stamp(session: Session, *, masked: bool) -> str:
    """Compute a stamp that changes with the session file, its title or its folder."""
    try:
        status = session.path.stat()
        file = [status.st_size, status.st_mtime_ns, status.st_ino]
    except OSError:
        file = []
    facts = (_FORMAT, masked, file, session.title, session.cwd, session.turn_count)
    return sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _stale(
    folder: ExportFolder, listing: Listing, roots: Roots, agent: str | None
) -> Iterable[Stale]:
    """Yield exports of deleted sessions, without those of roots that are just unavailable."""
    existing = {str(ref) for ref in listing.refs}
    agents = {ref.agent for ref in listing.refs}
    for ref, entry in sorted(folder.entries.items()):
        name = ref.partition(":")[0]
        if ref in existing or name not in agents or agent not in (None, name):
            continue
        if _is_gone(entry.source, roots(name)) and folder.has(entry.file):
            removable = folder.obstacle(entry.file) is None
            yield Stale(ref, folder.path / entry.file, removable)


def _is_gone(source: str, roots: Iterable[Path]) -> bool:
    """Return True if a session file is missing although its root is there."""
    with suppress(OSError):
        try:
            os.lstat(source)
        except (FileNotFoundError, NotADirectoryError):
            # An empty root may be an unmounted disk.
            return any(source.startswith(f"{root}/") and any(root.iterdir()) for root in roots)
    return False


@cache
def repository_name(cwd: str | None) -> str | None:
    """Find the name of a folder's repository without git.

    It is the folder with `.git`; for a worktree, the main one. A missing folder gives its own name.
    """
    if not cwd:
        return None
    path = Path(cwd)
    try:
        if not path.is_dir():
            return pure_path(cwd).name or None
        for folder in (path, *path.parents):
            git = folder / ".git"
            if git.is_dir():
                return folder.name
            if git.is_file():
                return _main_name(read_regular(git).decode("utf-8", "replace")) or folder.name
    except (OSError, ValueError):
        pass
    return None


def _main_name(pointer: str) -> str | None:
    """Extract the main repository: `gitdir: /home/ada/shop/.git/worktrees/fix` gives `shop`."""
    main, separator, _ = pointer.removeprefix("gitdir:").strip().partition("/.git/worktrees/")
    return Path(main).name if separator else None


def view(value: ExportPlan, *, dry_run: bool) -> dict[str, Any]:
    """Build the `--json` view of an export."""
    pruned = {item.ref for item in value.pruned}
    return {
        "folder": str(value.folder),
        "dry_run": dry_run,
        "masked": value.masked,
        "sessions": len(value.exports),
        "changed": [_view(item) for item in value.changed],
        "unchanged": len(value.of(ExportState.UNCHANGED)),
        "refused": [_view(item) for item in value.of(ExportState.REFUSED)],
        "failed": [_view(item) for item in value.of(ExportState.FAILED)],
        "gone": [
            {"ref": item.ref, "path": str(item.path), "removed": item.ref in pruned and not dry_run}
            for item in value.stale
        ],
        "hidden": value.hidden,
    }


def _view(one: Export) -> dict[str, Any]:
    return {
        "ref": str(one.session.ref),
        "path": str(one.path),
        "state": one.state.value,
        "reason": one.reason,
    }
