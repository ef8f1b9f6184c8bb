"""What the making of a worktree is about to do, on the disk before it is done, to be taken back.

A journal lies in the managed root while a worktree is made or removed, locked by whoever is at it.
`sweep` takes back what a killed process left, but no work of somebody who went on in there. Nothing
outside the managed root is ever deleted but what a journal names: a worktree's entry in its
repository, a branch that nobody used, and the snapshot that was taken for the worktree alone.
"""

import errno
import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from prong.code.worktrees import record, refs, state
from prong.code.worktrees.record import place_of
from prong.errors import External, ProngError, UsageError
from prong.files.journal import Journal, step
from prong.files.lock import locked
from prong.files.regular import read_regular
from prong.paths import private_dir

PRIVATE = ".prong"
"""The folder in the managed root for journals and for what is being deleted."""
_DELETIONS = 20
_PATIENCE = 30.0
"""Seconds that are waited for another prong."""
_ABANDONED = 10.0
"""Seconds after which an entry without content belongs to nobody."""


class Undo:
    """Records steps; takes them back when the `with` block fails."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.token = secrets.token_hex(8)
        self._journal: Journal | None = None

    def __enter__(self) -> Self:
        if self._journal is None:
            self.open()
        return self

    def open(self) -> None:
        """Begin the journal; raises `External` where that is not possible."""
        try:
            private_dir(self.root)
            self._journal = Journal.create(private_dir(self.root / PRIVATE), self.token)
        except OSError as error:
            raise External(
                f"cannot create a worktree in {self.root}: {error.strerror}",
                hint="another folder: [workspace] root in config.toml",
                path=str(self.root),
            ) from error

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._journal is not None
        try:
            self._end(error)
        except KeyboardInterrupt:
            self._end(error)  # half of it would be left: once more, and then enough
            raise
        finally:
            self._journal.close()

    def _end(self, error: BaseException | None) -> None:
        assert self._journal is not None
        try:
            if error is not None:
                _take_back(self.root, self.token, self._journal.entries)
            _forget(self.root, self.token)
        except (OSError, External) as again:
            # The journal stays, for `sweep`.
            if error is None:
                raise
            error.add_note(f"not everything could be taken back: {again}")

    def will(self, **entry: Any) -> None:
        """Say what comes next, before it is done."""
        assert self._journal is not None
        self._journal.write(**entry)

    def will_take(self, repo: Path, ref: str) -> None:
        """Say that a snapshot is taken for this worktree alone."""
        self.will(ref=ref, repo=str(repo))

    def whole(self, path: Path) -> None:
        """The worktree is as it should be. It stays when `keep` is said, or somebody uses it."""
        self.will(whole=str(path), at=time.time())

    def keep(self) -> None:
        """Nothing is taken back any more."""
        self.will(done=True)

    def make_folders(self, folder: Path) -> None:
        """Make a folder in the managed root, with those above it."""
        inside(self.root, folder / "x")
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        for path in reversed(missing):
            self.will(folder=str(path))
            step("make", path)
            path.mkdir(mode=0o700, exist_ok=True)
        # A link on the way may lead out of the root: look again at what is there now.
        inside(self.root, folder / "x")


def inside(root: Path, path: Path) -> Path:
    """The same path without links above it; an error when it is not in the managed root."""
    top = Path(os.path.realpath(root))
    real = Path(os.path.realpath(path.parent)) / path.name
    if ".." in path.parts or top not in real.parents or top / PRIVATE in (real, *real.parents):
        raise UsageError(
            f"{path} is not in the folder of prong's worktrees", path=str(path), root=str(root)
        )
    return real


class Swept(NamedTuple):
    """What became of what killed processes left."""

    removed: list[Path]
    kept: list[Path]
    """Worktrees that belong to no session, but that somebody works in."""


def sweep(root: Path, is_used: Callable[[Path], bool] = lambda _: False) -> Swept:
    """Take back what killed processes left in the managed root.

    A worktree that was whole stays when it is used: only the word that it is done was missing.
    """
    swept = Swept([], [])
    for path in sorted((root / PRIVATE).glob("*.jsonl")):
        journal = Journal.open(path)
        if journal is None:
            continue
        try:
            whole = _whole(journal.entries)
            if not any(is_used(each) for each in whole):
                worked_in = [each for each, at in whole.items() if _has_work(each, at)]
                swept.kept.extend(worked_in)
                if not worked_in:
                    swept.removed.extend(_take_back(root, path.stem, journal.entries))
            _forget(root, path.stem)
        finally:
            journal.close()
    return swept


def _whole(entries: list[dict[str, Any]]) -> dict[Path, float]:
    """The worktrees that are as they should be, but not known to stay; and since when."""
    if any("done" in entry for entry in entries):
        return {}
    named = {Path(entry["whole"]): entry.get("at", 0.0) for entry in entries if "whole" in entry}
    return {path: at for path, at in named.items() if path.is_dir()}


def _has_work(path: Path, at: float) -> bool:
    """Whether somebody did something in a worktree since then, or wants it to stay."""
    if not os.path.lexists(path / ".git"):
        return _is_touched(path, at)  # the copy of a folder without git
    try:
        worktree = record.read(path)
        work = state.work_in(worktree)
    except ProngError:
        return True  # nobody knows
    done = work.would_be_lost or work.in_snapshot or work.commits
    return bool(done) or state.is_locked(worktree)


def _is_touched(path: Path, at: float) -> bool:
    try:
        if path.lstat().st_ctime > at:
            return True
        if path.is_symlink() or not path.is_dir():
            return False
        return any(_is_touched(inner, at) for inner in sorted(path.iterdir()))
    except OSError:
        return True  # nobody knows


def leftovers(root: Path) -> list[Path]:
    """The journals of killed processes."""
    found: list[Path] = []
    for path in sorted((root / PRIVATE).glob("*.jsonl")):
        journal = Journal.open(path)
        if journal is not None:
            found.append(path)
            journal.close()
    return found


def under_way(root: Path) -> set[Path]:
    """The worktrees that are being made or removed, by a living process or by a killed one."""
    found: set[Path] = set()
    for path in (root / PRIVATE).glob("*.jsonl"):
        found |= {
            Path(entry[what])
            for entry in _entries_in(path)
            for what in ("worktree", "copy", "removing")
            if what in entry
        }
    return found


def _entries_in(path: Path) -> list[dict[str, Any]]:
    """What a journal says, whoever holds it."""
    try:
        lines = read_regular(path).split(b"\n")[:-1]  # the last one may not be whole yet
        return [json.loads(line) for line in lines]
    except (OSError, ValueError):  # it is gone by now
        return []


def delete(root: Path, path: Path, token: str) -> None:
    """Delete a folder in the managed root: moved out of sight as a whole, then piece by piece."""
    real = inside(root, path)
    if not os.path.lexists(real):
        return
    if real.is_symlink():
        step("remove", real)
        real.unlink()
        return
    gone = root / PRIVATE / f"{token}-{secrets.token_hex(4)}"
    step("move", real)
    try:
        real.rename(gone)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        gone = real  # another disk is mounted there
    _delete(gone)


def _tidy(root: Path, path: Path) -> None:
    """Remove the folder that the worktrees of a repository are in, after the last of them."""
    if path.parent != Path(os.path.realpath(root)):
        with suppress(OSError):  # others are in it
            path.parent.rmdir()


def _delete(path: Path) -> None:
    """A git that outlived its killed parent may still be writing: then once more."""
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
    """Folders without write permission are common: Go's modules are such."""
    if isinstance(failure[1], FileNotFoundError):
        return
    if not isinstance(failure[1], PermissionError):
        raise failure[1]
    above = os.path.dirname(path)
    for folder in (above, path):
        with suppress(OSError):
            if not Path(folder).is_symlink():
                Path(folder).chmod(stat.S_IRWXU)
    if act is os.open or act is os.scandir:  # a folder that could not be looked into
        shutil.rmtree(path)
    else:
        act(path)


def _forget(root: Path, token: str) -> None:
    for gone in (root / PRIVATE).glob(f"{token}-*"):
        _delete(gone)
    path = root / PRIVATE / f"{token}.jsonl"
    step("remove", path)
    path.unlink(missing_ok=True)


def _take_back(root: Path, token: str, entries: list[dict[str, Any]]) -> list[Path]:
    """Undo in reverse. May be stopped anywhere and begun anew."""
    if any("done" in entry for entry in entries):
        return []
    removed: list[Path] = []
    for entry in reversed(entries):
        if "worktree" in entry:
            path = Path(entry["worktree"])
            delete(root, path, token)
            common = Path(entry["common"])
            if common.is_dir():  # the repository may be gone as well
                _take_back_entry(common, path, token, entry)
            removed.append(path)
        elif "copy" in entry:
            path = Path(entry["copy"])
            delete(root, path, token)
            _tidy(root, path)
            removed.append(path)
        elif "removing" in entry:
            # Begun means done: what is left of it is in nobody's sight any more.
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


def _take_back_entry(common: Path, path: Path, token: str, entry: dict[str, Any]) -> None:
    with alone(common):
        forget_entry(common, path, token, entry["known"])
        if entry["head"] is not None:
            refs.drop_new_branch(common, entry["branch"], entry["head"], entry["mark"])


def forget_removed(root: Path, token: str, entry: dict[str, Any]) -> str | None:
    """Take a deleted worktree and those inside it off their repositories, as the journal says.

    The branch stays when something is on it. Returns its name then.
    """
    kept = [_forget_part(token, *part) for part in entry["parts"]]
    for common, *_ in entry["parts"]:
        if entry.get("snapshot") and Path(common).is_dir():
            refs.drop_snapshot(Path(common), entry["snapshot"])
    _tidy(root, Path(entry["removing"]))
    return kept[-1]


def _forget_part(token: str, common: str, path: str, branch: str, base: str | None) -> str | None:
    if not Path(common).is_dir():
        return None  # the repository is gone as well
    with alone(Path(common)):
        forget_entry(Path(common), Path(path), token)
        return refs.drop_unused_branch(Path(common), branch, base)


@contextmanager
def alone(common: Path) -> Generator[None]:
    """No other prong changes what this repository knows of its worktrees.

    Git fails when an entry vanishes that it is about to look at.
    """
    descriptor = os.open(common, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        locked(descriptor, _PATIENCE)
        yield
    finally:
        os.close(descriptor)


def entries_of(common: Path) -> list[Path]:
    """What a repository knows of its worktrees: one folder each."""
    try:
        return sorted((common / "worktrees").iterdir())
    except OSError:
        return []


def forget_entry(
    common: Path, path: Path, token: str, known: Collection[str] | None = None
) -> None:
    """Remove a worktree's entry from its repository, which had others that are `known`."""
    for entry in entries_of(common):
        there = place_of(entry)
        if there is None:
            points = known is not None and entry.name not in known and _is_abandoned(entry)
        else:
            points = there == path
        if points:
            step("move", entry)
            entry.rename(common / f"prong-{token}-{entry.name}")
    for gone in common.glob(f"prong-{token}-*"):
        _delete(gone)
    with suppress(OSError):
        (common / "worktrees").rmdir()


def _is_abandoned(entry: Path) -> bool:
    """Git was killed before it wrote where the new worktree is; some other git may be at it now."""
    with suppress(OSError):
        return time.time() - entry.stat().st_mtime > _ABANDONED
    return False
