"""A tree of files completed from another one: what is missing there is copied, as it is.

Links stay links, folders may be empty, and permissions and times stay what they are. Pipes and
sockets belong to running programs and are left out, as are worktrees of repositories elsewhere: a
copy of one would share its index and head with it. The source is only read.
"""

import filecmp
import os
import stat
from collections.abc import Collection
from pathlib import Path

from prong.code.ignored import copy_file

_GIT = ".git"
_NAMED = 5
"""So many files that could not be copied are named."""


class TreeCopy:
    """One source and one target, which exists and may have some of the files already."""

    def __init__(
        self, source: Path, target: Path, left_out: Collection[str] = (), *, doubted: int | None
    ) -> None:
        """`left_out`: names, from the top, of what is not looked at.

        A file that is there already is taken for the right one, unless it is larger than `doubted`.
        """
        self._source = os.fspath(source)
        self._target = os.fspath(target)
        self._left_out = frozenset(left_out)
        self._doubted = doubted
        self._modes: list[tuple[str, int]] = []
        self._problems: list[str] = []
        self.changed_modes: set[str] = set()
        """Files that were there, and have other permissions now."""

    def complete(self) -> None:
        folders = [""]
        try:
            while folders:
                folders += self._complete(folders.pop())
        finally:
            # Those inside first; and not before they are filled, for some cannot be written to.
            for path, mode in reversed(self._modes):
                os.chmod(path, mode)  # noqa: PTH101

    @property
    def warnings(self) -> tuple[str, ...]:
        more = len(self._problems) - _NAMED
        rest = (f"and {more} more were not copied",) if more > 0 else ()
        return (*self._problems[:_NAMED], *rest)

    def _complete(self, folder: str) -> list[str]:
        """The folders in it that come next; each of these names ends with a slash."""
        inner: list[str] = []
        try:
            with os.scandir(f"{self._source}/{folder}") as found:
                entries = list(found)
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
                continue  # gone meanwhile
            except OSError as error:
                self._tell(name, error.strerror or str(error))
        return inner

    def _folder(self, entry: os.DirEntry[str], name: str) -> bool:
        there = f"{self._target}/{name}"
        mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
        if not os.path.lexists(there):
            if self._leads_out(entry.path):
                self._tell(name, "a worktree of another repository")
                return False
            os.mkdir(there, 0o700)  # noqa: PTH102
            self._modes.append((there, mode))
            return True
        found = os.lstat(there).st_mode
        if not stat.S_ISDIR(found):
            # A link, made a folder meanwhile: it would lead out of the copy.
            self._tell(name, "it was changed meanwhile")
            return False
        if stat.S_IMODE(found) != mode:
            self._modes.append((there, mode))
        return True

    def _leads_out(self, folder: str) -> bool:
        """Whether its `.git` leads to a repository that is not copied along with it."""
        try:
            content = Path(folder, _GIT).read_bytes()
        except OSError:
            return False  # there is none, or it is a folder
        if not content.startswith(b"gitdir: "):
            return False
        there = os.fsdecode(content.removeprefix(b"gitdir: ").rstrip(b"\n"))
        inside = os.path.relpath(os.path.join(folder, there), self._source)  # noqa: PTH118
        return there.startswith("/") or inside.split("/")[0] in ("..", _GIT)

    def _file(self, entry: os.DirEntry[str], name: str) -> None:
        there = Path(f"{self._target}/{name}")
        status = entry.stat(follow_symlinks=False)
        if os.path.lexists(there):
            if not stat.S_ISREG(status.st_mode):
                return
            if not self._is_doubtful(entry.path, there, status):
                self._give_mode(name, there, stat.S_IMODE(status.st_mode))
                return
            there.unlink()
        if stat.S_ISLNK(status.st_mode):
            there.symlink_to(self._link(entry.path))
        elif stat.S_ISREG(status.st_mode):
            copy_file(Path(entry.path), there)
        else:
            self._tell(name, "a pipe, a socket or a device")

    def _is_doubtful(self, source: str, there: Path, status: os.stat_result) -> bool:
        """A snapshot has not got what is too large: such a file may be what was staged of it."""
        if self._doubted is None or status.st_size <= self._doubted:
            return False
        return not filecmp.cmp(source, there, shallow=False)

    def _give_mode(self, name: str, there: Path, mode: int) -> None:
        """Git knows only whether a file is a program; not that it is nobody else's business."""
        found = os.lstat(there)
        if stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) != mode:
            there.chmod(mode)
            self.changed_modes.add(name)

    def _link(self, path: str) -> str:
        """What leads out of the source leads to the same place; what leads into it, into the copy.

        So nothing that is done in the copy through a link is done to the source.
        """
        text = os.readlink(path)  # noqa: PTH115 (a Path would tidy it)
        there = os.path.normpath(os.path.join(os.path.dirname(path), text))  # noqa: PTH118
        is_inside = f"{there}/".startswith(f"{self._source}/")
        if os.path.isabs(text):  # noqa: PTH117
            return self._target + there.removeprefix(self._source) if is_inside else text
        return text if is_inside else there

    def _tell(self, name: str, reason: str) -> None:
        self._problems.append(f"{name.rstrip('/')} was not copied: {reason}")


def _is_of_the_source(folder: str, name: str) -> bool:
    """The repository that is at the top is not copied; nor are the worktrees of one inside it."""
    if name == _GIT:
        return not folder
    return name == "worktrees" and f"/{folder}".endswith(f"/{_GIT}/")
