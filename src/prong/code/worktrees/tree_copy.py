"""Copy what is missing in a tree of files from another one, unchanged.

Links stay links, folders may be empty, and permissions and times are preserved. Pipes and sockets
of running programs are left out, as are worktrees of repositories elsewhere, since a copy would
share the original's index and head. The source is only read.
"""

import filecmp
import os
import stat
from collections.abc import Collection
from pathlib import Path

from prong.code.ignored import copy_file
from prong.files.regular import read_regular

_GIT = ".git"
_NAMED = 5
"""Maximum number of failed files named in warnings."""


class TreeCopy:
    """A copy of a source to an existing target, which may already have some files."""

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
        folders = [""]
        try:
            while folders:
                folders += self._complete(folders.pop())
        finally:
            # Inner folders first, and only when filled: some are not writable.
            for path, mode in reversed(self._modes):
                os.chmod(path, mode)  # noqa: PTH101

    @property
    def warnings(self) -> tuple[str, ...]:
        hidden = len(self._problems) - _NAMED
        suffix = (f"and {hidden} more were not copied",) if hidden > 0 else ()
        return (*self._problems[:_NAMED], *suffix)

    def _complete(self, folder: str) -> list[str]:
        """Copy a folder's entries. Returns its subfolders, each with a trailing slash."""
        inner: list[str] = []
        try:
            with os.scandir(f"{self._source}/{folder}") as iterator:
                entries = list(iterator)
        except OSError as error:
            self._tell(folder, error.strerror or str(error))
            return inner
        for entry in entries:
            name = f"{folder}{entry.name}"
            if name in self._left_out or _is_of_the_source(folder, entry.name):
                continue
            try:
                if not entry.is_dir(follow_symlinks=False):
                    self._file(entry, name)
                elif self._folder(entry, name):
                    inner.append(f"{name}/")
            except FileNotFoundError:
                continue  # deleted meanwhile
            except OSError as error:
                self._tell(name, error.strerror or str(error))
        return inner

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
            if not self._is_doubtful(entry.path, target, status):
                self._give_mode(name, target, stat.S_IMODE(status.st_mode))
                return
            target.unlink()
        if stat.S_ISLNK(status.st_mode):
            target.symlink_to(self._link(entry.path))
        elif stat.S_ISREG(status.st_mode):
            copy_file(Path(entry.path), target)
        else:
            self._tell(name, "a pipe, a socket or a device")

    def _is_doubtful(self, source: str, there: Path, status: os.stat_result) -> bool:
        """Tell whether a file too large for snapshots differs: it may be the staged version."""
        if self._doubted is None or status.st_size <= self._doubted:
            return False
        return not filecmp.cmp(source, there, shallow=False)

    def _give_mode(self, name: str, there: Path, mode: int) -> None:
        """Copy permissions: git records whether a file is executable, but not if it is private."""
        status = os.lstat(there)
        if stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) != mode:
            there.chmod(mode)
            self.changed_modes.add(name)

    def _link(self, path: str) -> str:
        """Map a link: targets outside the source stay the same, those inside move to the copy.

        So nothing done through a link in the copy affects the source.
        """
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
