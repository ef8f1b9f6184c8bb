"""Copy a workspace into the managed root, to clone the session that runs there.

In a git repository the copy is a new worktree on a new branch, with the same head, index and files,
including ignored ones. A folder without git is copied with the repositories in it. The source is
only read, and a journal undoes copies that are not wanted or were interrupted.
"""

import filecmp
import os
import shutil
import stat
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from prong.code.git import Git
from prong.code.ignored import IgnoredFiles, bring, copy_file
from prong.code.repository import Repository
from prong.code.worktrees import record as worktree_record
from prong.code.worktrees import worktree as worktrees
from prong.code.worktrees.journal import Undo, alone, inside
from prong.code.worktrees.make import give_back, refuse_taken, take_for
from prong.code.worktrees.record import Worktree, entry_of, file_state
from prong.code.worktrees.work import IGNORED, UNDER_WAY
from prong.errors import NotFound, UsageError
from prong.files.journal import step
from prong.files.regular import read_regular
from prong.files.size_limit import SNAPSHOT_LIMIT

_CARRIED = ("MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE", "SQUASH_MSG", "ORIG_HEAD")
_HEADS = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_FORGOTTEN = "git has forgotten why"
"""The end of the warning for a worktree in conflict."""
_GIT = ".git"
_NAMED = 5
"""Maximum number of failed files named in warnings."""


@dataclass(frozen=True)
class WorkspaceCopy:
    """A copy. The caller decides whether it stays."""

    path: Path
    """The top of the copy."""
    folder: Path
    """The counterpart of the source folder in the copy."""
    worktree: Worktree | None = None
    """None for the copy of a folder without git."""
    warnings: tuple[str, ...] = ()


def copy(
    folder: Path,
    name: str,
    undo: Undo,
    *,
    branch: str,
    ignored: bool = True,
    brought: IgnoredFiles | None = None,
    limit: int = SNAPSHOT_LIMIT,
) -> WorkspaceCopy:
    """Copy the working tree that a folder is in, or the folder itself without git.

    Without `ignored`, only the ignored files that every worktree gets are copied: `brought`. Files
    above the `limit` are copied directly, the others through git.
    """
    real = Path(os.path.realpath(folder))
    if not real.is_dir():
        raise NotFound(f"folder {folder} does not exist", path=str(folder))
    repository = Repository.find(real)
    top = top_of(real)
    home = Path(os.path.realpath(Path.home()))
    if top in (home, *home.parents):  # whoever runs an agent there does not mean all of it
        raise UsageError(
            f"{top} is too much to copy: your home folder is in it",
            hint="prong fork runs a fork in the same folder",
            path=str(top),
        )
    path = worktrees.place(undo.root, top, name)
    if repository is None:
        return _copy_folder(real, path, undo)
    snapshot = take_for(undo, repository.top, path, limit)
    worktree = give_back(undo, snapshot, path, branch)
    worktree_record.write(worktree)
    warnings = list(worktree.warnings)
    if not ignored:
        warnings += bring(worktree.repo, worktree.path, brought or IgnoredFiles())
    for inner in ("", *worktree.nested):
        warnings += _complete(worktree, inner, undo.root, ignored=ignored, limit=limit)
        warnings += _carry(worktree.repo / inner, worktree.path / inner)
    warnings = _still_true(warnings, worktree)
    worktree = replace(worktree_record.read(worktree.path), warnings=tuple(warnings))
    worktree_record.write(worktree)
    undo.whole(worktree.path)
    below = worktree.path / real.relative_to(top)
    return WorkspaceCopy(worktree.path, below, worktree, worktree.warnings)


def top_of(folder: Path) -> Path:
    """Return what a copy contains: the folder's working tree, or the folder itself."""
    repository = Repository.find(folder) if os.path.isdir(folder) else None
    return Path(os.path.realpath(repository.top if repository else folder))


def _copy_folder(source: Path, path: Path, undo: Undo) -> WorkspaceCopy:
    undo.make_folders(path.parent)
    path = inside(undo.root, path)
    with alone(path.parent):
        refuse_taken(undo.root, path)
        undo.will(copy=str(path))
        step("copy", path)
        path.mkdir(mode=0o700)
    tree = _TreeCopy(source, path, _managed(undo.root, source), doubted=None)
    tree.complete()
    undo.whole(path)
    return WorkspaceCopy(path, path, warnings=tree.warnings)


def _complete(
    worktree: Worktree, inner: str, root: Path, *, ignored: bool, limit: int
) -> tuple[str, ...]:
    """Copy what a repository's snapshot lacks: ignored files, large ones, empty folders."""
    source, target = worktree.repo / inner, worktree.path / inner
    prefix = f"{inner}/" if inner else ""
    nested = {name.removeprefix(prefix) for name in worktree.nested if name.startswith(prefix)}
    left_out = {*nested, *_managed(root, source)}
    if not ignored:
        left_out |= {os.fsdecode(name).rstrip("/") for name in Git(source).items(*IGNORED)}
    step("copy", target)
    tree = _TreeCopy(Path(os.path.realpath(source)), target, left_out, doubted=limit)
    tree.complete()
    _know_modes(target, tree.changed_modes)
    return tuple(prefix + warning for warning in tree.warnings)


def _managed(root: Path, source: Path) -> set[str]:
    """Return the managed root if it is in the source, where git ignores it."""
    managed = Path(os.path.realpath(root))
    top = Path(os.path.realpath(source))
    return {str(managed.relative_to(top))} if top in managed.parents else set()


def _know_modes(target: Path, names: set[str]) -> None:
    """Record the permissions copied from the source, so that prune does not count them as work."""
    record = worktree_record.read(target)
    if record.given is not None and names & record.given.files.keys():
        new = {name: file_state(target / name) for name in names & record.given.files.keys()}
        given = replace(record.given, files={**record.given.files, **new})
        worktree_record.write(replace(record, given=given))


def _carry(source: Path, target: Path) -> list[str]:
    """Carry a merge over to the copy; not a rebase, whose end moves the branch of the source."""
    repository = Repository.find(source)
    if repository is None:
        return []
    source_dir, target_dir = repository.git_dir, entry_of(target)
    under_way = [operation for name, operation in UNDER_WAY.items() if (source_dir / name).exists()]
    unsupported = [operation for operation in under_way if operation in ("a rebase", "a bisection")]
    if unsupported:
        return [f"{unsupported[0]} is under way in {source}, but not in the copy"]
    for name in (*_CARRIED, *_HEADS):
        with suppress(FileNotFoundError):
            shutil.copyfile(source_dir / name, target_dir / name)
    return []


def _still_true(warnings: list[str], worktree: Worktree) -> list[str]:
    """Drop warnings that no longer apply now that the worktree is complete."""
    is_known = any((entry_of(worktree.path) / name).exists() for name in _HEADS)
    valid: list[str] = []
    for warning in dict.fromkeys(warnings):
        inner, _, missing = warning.partition(", a repository of its own, is missing here")
        is_there = bool(missing) and os.path.lexists(worktree.path / inner / ".git")
        if not is_there and not (is_known and warning.endswith(_FORGOTTEN)):
            valid.append(warning)
    return valid


class _TreeCopy:
    """A copy of a source to an existing target, which may already have some files.

    Links stay links, folders may be empty, and permissions and times are preserved. Pipes and
    sockets of running programs are left out, as are worktrees of repositories elsewhere, since a
    copy would share the original's index and head. The source is only read.
    """

    def __init__(
        self, source: Path, target: Path, left_out: Collection[str] = (), *, doubted: int | None
    ) -> None:
        """Prepare the copy. `left_out`: names to skip, relative to the top.

        An existing file is kept; one larger than `doubted` is compared and replaced if it differs.
        """
        self._source = os.fspath(source)
        self._target = os.fspath(target)
        self._left_out = frozenset(left_out)
        self._doubted = doubted
        self._modes: list[tuple[str, int]] = []
        self._problems: list[str] = []
        self.changed_modes: set[str] = set()
        """Existing files whose permissions were changed."""

    def complete(self) -> None:
        folders = [""]  # each with a trailing slash
        try:
            while folders:
                folder = folders.pop()
                for entry in self._entries(folder):
                    name = f"{folder}{entry.name}"
                    if name in self._left_out or _is_of_the_source(folder, entry.name):
                        continue
                    try:
                        if not entry.is_dir(follow_symlinks=False):
                            self._file(entry, name)
                        elif self._folder(entry, name):
                            folders.append(f"{name}/")
                    except FileNotFoundError:
                        continue  # deleted meanwhile
                    except OSError as error:
                        self._tell(name, error.strerror or str(error))
        finally:
            # Inner folders first, and only when filled: some are not writable.
            for path, mode in reversed(self._modes):
                os.chmod(path, mode)  # noqa: PTH101

    @property
    def warnings(self) -> tuple[str, ...]:
        hidden = len(self._problems) - _NAMED
        suffix = (f"and {hidden} more were not copied",) if hidden > 0 else ()
        return (*self._problems[:_NAMED], *suffix)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(f"{self._source}/{folder}") as iterator:
                return list(iterator)
        except OSError as error:
            self._tell(folder, error.strerror or str(error))
            return []

    def _folder(self, entry: os.DirEntry[str], name: str) -> bool:
        target = f"{self._target}/{name}"
        mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
        if not os.path.lexists(target):
            if self._leads_out(entry.path):
                self._tell(name, "a worktree of another repository")
                return False
            os.mkdir(target, 0o700)  # noqa: PTH102
            self._modes.append((target, mode))
            return True
        current_mode = os.lstat(target).st_mode
        if not stat.S_ISDIR(current_mode):
            # A link where the source now has a folder: it would lead out of the copy.
            self._tell(name, "it was changed meanwhile")
            return False
        if stat.S_IMODE(current_mode) != mode:
            self._modes.append((target, mode))
        return True

    def _leads_out(self, folder: str) -> bool:
        """Tell whether its `.git` leads to a repository that is not copied with it."""
        try:
            content = read_regular(Path(folder, _GIT))
        except OSError:
            return False  # no `.git`, or a folder
        if not content.startswith(b"gitdir: "):
            return False
        git_dir = os.fsdecode(content.removeprefix(b"gitdir: ").rstrip(b"\n"))
        inside = os.path.relpath(os.path.join(folder, git_dir), self._source)  # noqa: PTH118
        return git_dir.startswith("/") or inside.split("/")[0] in ("..", _GIT)

    def _file(self, entry: os.DirEntry[str], name: str) -> None:
        target = Path(f"{self._target}/{name}")
        status = entry.stat(follow_symlinks=False)
        if os.path.lexists(target):
            if not stat.S_ISREG(status.st_mode):
                return
            # A file too large for snapshots may be the staged version there.
            doubtful = self._doubted is not None and status.st_size > self._doubted
            if not doubtful or filecmp.cmp(entry.path, target, shallow=False):
                current, mode = os.lstat(target).st_mode, stat.S_IMODE(status.st_mode)
                # Git records whether a file is executable, but not if it is private.
                if stat.S_ISREG(current) and stat.S_IMODE(current) != mode:
                    target.chmod(mode)
                    self.changed_modes.add(name)
                return
            target.unlink()
        if stat.S_ISLNK(status.st_mode):
            target.symlink_to(self._link(entry.path))
        elif stat.S_ISREG(status.st_mode):
            copy_file(Path(entry.path), target)
        else:
            self._tell(name, "a pipe, a socket or a device")

    def _link(self, path: str) -> str:
        """Map a link so that nothing done through it in the copy affects the source."""
        text = os.readlink(path)  # noqa: PTH115 (a Path would tidy it)
        target = os.path.normpath(os.path.join(os.path.dirname(path), text))  # noqa: PTH118
        is_inside = f"{target}/".startswith(f"{self._source}/")
        if os.path.isabs(text):  # noqa: PTH117
            return self._target + target.removeprefix(self._source) if is_inside else text
        return text if is_inside else target

    def _tell(self, name: str, reason: str) -> None:
        self._problems.append(f"{name.rstrip('/')} was not copied: {reason}")


def _is_of_the_source(folder: str, name: str) -> bool:
    """Tell whether this is the top repository, or the worktree list of a nested one."""
    if name == _GIT:
        return not folder
    return name == "worktrees" and f"/{folder}".endswith(f"/{_GIT}/")
