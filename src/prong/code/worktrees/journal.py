"""Journals of creating and removing worktrees, by which unfinished steps are undone.

Each step is written to disk before it is done. A journal is in the managed root while a worktree is
created or removed, and its process holds a lock on it. `sweep` undoes what a killed process left,
but no work that somebody did there. Outside the managed root, only what a journal names is deleted:
a worktree's entry in its repository, an unused branch, and a snapshot taken for the worktree alone.
"""

import errno
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from prong.code.worktrees import record, refs, work
from prong.code.worktrees.record import place_of
from prong.errors import External, ProngError, UsageError
from prong.files import journal as journals
from prong.files.atomic import held
from prong.files.journal import Journal, step
from prong.files.regular import objects_in, read_regular
from prong.paths import private_dir

PRIVATE = ".prong"
"""The folder in the managed root for journals and for what is being deleted."""
_DELETIONS = 20
_PATIENCE = 30.0
"""Seconds to wait for another prong."""
_ABANDONED = 10.0
"""Seconds after which an empty entry counts as abandoned."""


class Undo:
    """A journal of steps that are undone if the `with` block fails."""

    def __init__(self, root: Path) -> None:
        """Create the journal, or raise `External`."""
        self.root = root
        self.token = secrets.token_hex(8)
        try:
            private_dir(self.root)
            self._journal = Journal.create(private_dir(self.root / PRIVATE), self.token)
        except OSError as error:
            raise External(
                f"cannot create a worktree in {self.root}: {error.strerror}",
                hint="another folder: [workspace] root in config.toml",
                path=str(self.root),
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        try:
            self._end(error)
        except KeyboardInterrupt:
            self._end(error)  # do not stop halfway: try once more
            raise
        finally:
            self._journal.close()

    def _end(self, error: BaseException | None) -> None:
        try:
            if error is not None:
                _take_back(self.root, self.token, self._journal.entries)
            _forget(self.root, self.token)
        except (OSError, External) as again:
            # The journal stays for `sweep`.
            if error is None:
                raise
            error.add_note(f"not everything could be taken back: {again}")

    def will(self, **entry: Any) -> None:
        """Record the next step before it is done."""
        self._journal.write(**entry)

    def whole(self, path: Path) -> None:
        """Record that a worktree is complete. It stays after `keep`, or if somebody uses it."""
        self.will(whole=str(path), at=time.time())

    def keep(self) -> None:
        """Record that nothing is undone any more."""
        self.will(done=True)

    def make_folders(self, folder: Path) -> None:
        """Create a folder in the managed root, with its parents."""
        inside(self.root, folder / "x")
        self._journal.make_folders(folder)
        # A link in the path may lead out of the root, so check what exists now.
        inside(self.root, folder / "x")


def inside(root: Path, path: Path) -> Path:
    """Resolve links in a path's parents; raise `UsageError` if it is outside the managed root."""
    top = Path(os.path.realpath(root))
    real = Path(os.path.realpath(path.parent)) / path.name
    if ".." in path.parts or top not in real.parents or top / PRIVATE in (real, *real.parents):
        raise UsageError(
            f"{path} is not in the folder of prong's worktrees", path=str(path), root=str(root)
        )
    return real


class Swept(NamedTuple):
    removed: list[Path]
    kept: list[Path]
    """Worktrees without a session that contain somebody's work."""


def sweep(root: Path, is_used: Callable[[Path], bool] = lambda _: False) -> Swept:
    """Undo what killed processes left in the managed root, except complete worktrees in use."""
    swept = Swept([], [])
    for journal in journals.abandoned(root / PRIVATE):
        token, entries = journal.path.stem, journal.entries
        is_done = any("done" in entry for entry in entries)
        # Complete worktrees that are not yet kept, and the time of completion.
        whole = {
            Path(entry["whole"]): entry.get("at", 0.0)
            for entry in entries
            if "whole" in entry and not is_done and Path(entry["whole"]).is_dir()
        }
        if not any(is_used(top) for top in whole):
            worked_in = [top for top, since in whole.items() if _has_work(top, since)]
            swept.kept.extend(worked_in)
            if not worked_in:
                swept.removed.extend(_take_back(root, token, entries))
        _forget(root, token)
    return swept


def _has_work(path: Path, at: float) -> bool:
    if not os.path.lexists(path / ".git"):
        return _is_touched(path, at)  # the copy of a folder without git
    try:
        worktree = record.read(path)
        done = work.work_in(worktree)
    except ProngError:
        return True  # unknown, so assume that there is work
    changes = done.would_be_lost or done.in_snapshot or done.commits
    return bool(changes) or work.is_locked(worktree)


def _is_touched(path: Path, at: float) -> bool:
    try:
        if path.lstat().st_ctime > at:
            return True
        if path.is_symlink() or not path.is_dir():
            return False
        return any(_is_touched(inner, at) for inner in sorted(path.iterdir()))
    except OSError:
        return True  # unknown, so assume that there is work


def leftovers(root: Path) -> list[Path]:
    return journals.leftovers(root / PRIVATE)


def under_way(root: Path) -> set[Path]:
    """Return the worktrees that are being created or removed, even by a killed process."""
    worktrees: set[Path] = set()
    for path in (root / PRIVATE).glob("*.jsonl"):
        with suppress(OSError):  # it was deleted meanwhile
            for entry in objects_in(read_regular(path)):
                keys = ("worktree", "copy", "removing")
                worktrees |= {Path(entry[key]) for key in keys if key in entry}
    return worktrees


def delete(root: Path, path: Path, token: str) -> None:
    """Delete a folder in the managed root: first move it away as a whole, then delete its files."""
    real = inside(root, path)
    if not os.path.lexists(real):
        return
    if real.is_symlink():
        step("remove", real)
        real.unlink()
        return
    trash = root / PRIVATE / f"{token}-{secrets.token_hex(4)}"
    step("move", real)
    try:
        real.rename(trash)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        trash = real  # another disk is mounted there
    _delete(trash)


def _tidy(root: Path, path: Path) -> None:
    """Remove the folder for the worktrees of a repository, if it is empty."""
    if path.parent != Path(os.path.realpath(root)):
        with suppress(OSError):  # others are in it
            path.parent.rmdir()


def _delete(path: Path) -> None:
    """Delete a folder; retry, since a git that outlived its parent may still write there."""
    for attempt in range(_DELETIONS):
        step("remove", path)
        try:
            shutil.rmtree(path, onerror=_make_deletable)
        except FileNotFoundError:
            return
        except OSError:
            if attempt == _DELETIONS - 1:
                raise
            time.sleep(0.05)
        else:
            return


def _make_deletable(act: Callable[..., Any], path: str, failure: Any) -> None:
    """Make read-only folders writable, such as those of Go modules."""
    if isinstance(failure[1], FileNotFoundError):
        return
    if not isinstance(failure[1], PermissionError):
        raise failure[1]
    above = os.path.dirname(path)
    for folder in (above, path):
        with suppress(OSError):
            if not Path(folder).is_symlink():
                Path(folder).chmod(stat.S_IRWXU)
    if act is os.open or act is os.scandir:  # a folder that could not be read
        shutil.rmtree(path)
    else:
        act(path)


def _forget(root: Path, token: str) -> None:
    for trash in (root / PRIVATE).glob(f"{token}-*"):
        _delete(trash)
    path = root / PRIVATE / f"{token}.jsonl"
    step("remove", path)
    path.unlink(missing_ok=True)


def _take_back(root: Path, token: str, entries: list[dict[str, Any]]) -> list[Path]:
    """Undo steps in reverse order. Can be interrupted and repeated."""
    if any("done" in entry for entry in entries):
        return []
    removed: list[Path] = []
    for entry in reversed(entries):
        if "worktree" in entry:
            path = Path(entry["worktree"])
            delete(root, path, token)
            common, head = Path(entry["common"]), entry["head"]
            if common.is_dir():  # the repository may be gone as well
                with alone(common):
                    _forget_entry(common, path, token, entry["known"])
                    if head is not None:
                        refs.drop_new_branch(common, entry["branch"], head, entry["mark"])
            removed.append(path)
        elif "copy" in entry:
            path = Path(entry["copy"])
            delete(root, path, token)
            _tidy(root, path)
            removed.append(path)
        elif "removing" in entry:
            # A removal that began is completed: the rest is already out of sight.
            path = Path(entry["removing"])
            if not os.path.lexists(path):
                forget_removed(root, token, entry)
                removed.append(path)
        elif "ref" in entry:
            if Path(entry["repo"]).is_dir():
                refs.drop_snapshot(Path(entry["repo"]), entry["ref"])
        elif "folder" in entry:
            with suppress(OSError):  # only what is still empty
                Path(entry["folder"]).rmdir()
    return removed


def forget_removed(root: Path, token: str, entry: dict[str, Any]) -> str | None:
    """Remove deleted worktrees from their repositories; return the branch if it is kept."""
    kept: str | None = None
    parts = [(Path(common), Path(path), *rest) for common, path, *rest in entry["parts"]]
    for common, path, branch, base in parts:
        kept = None
        if common.is_dir():  # the repository may be gone as well
            with alone(common):
                _forget_entry(common, path, token)
                kept = refs.drop_unused_branch(common, branch, base)
    for common, *_ in parts:
        if entry.get("snapshot") and common.is_dir():
            refs.drop_snapshot(common, entry["snapshot"])
    _tidy(root, Path(entry["removing"]))
    return kept


def alone(common: Path) -> AbstractContextManager[bool]:
    """Lock a repository's list of worktrees: git fails if an entry vanishes while it looks."""
    return held(common, _PATIENCE)


def entries_of(common: Path) -> list[Path]:
    """List a repository's entries of worktrees, one folder each."""
    try:
        return sorted((common / "worktrees").iterdir())
    except OSError:
        return []


def _forget_entry(
    common: Path, path: Path, token: str, known: Collection[str] | None = None
) -> None:
    """Remove a worktree's entry from its repository. `known`: the names of older entries."""
    for entry in entries_of(common):
        place = place_of(entry)
        is_new = known is not None and entry.name not in known
        is_ours = place == path
        if place is None and is_new:
            with suppress(OSError):
                # Git was killed before it wrote the path; a running git may still do so.
                is_ours = time.time() - entry.stat().st_mtime > _ABANDONED
        if is_ours:
            step("move", entry)
            entry.rename(common / f"prong-{token}-{entry.name}")
    for trash in common.glob(f"prong-{token}-*"):
        _delete(trash)
    with suppress(OSError):
        (common / "worktrees").rmdir()
