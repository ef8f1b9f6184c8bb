"""Ignored files that a new worktree needs all the same: `.env`, `node_modules`.

A snapshot has none of them. What goes along is named by the repository's `.worktreeinclude`, a file
of gitignore patterns that other tools read too, and by two lists of such patterns. Only what git
ignores in the source is taken, never a file that it tracks, and nothing is ever replaced.
"""

import fcntl
import os
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from prong.code.git import Git

INCLUDE = ".worktreeinclude"
_FICLONE = 0x40049409
"""Linux: let a file share the blocks of another until one of them is written."""
_READING = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_WRITING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_PIECE = 1 << 20
_SCOPE = "@"
"""How a folder in `node_modules` begins that has packages in it instead of being one."""


@dataclass(frozen=True)
class IgnoredFiles:
    """Which ignored files a worktree gets. Patterns are those of gitignore."""

    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()


def bring(source: Path, target: Path, wanted: IgnoredFiles) -> tuple[str, ...]:
    """Copy and link what is wanted from one working tree into another. Returns warnings."""
    copies = [f"--exclude={pattern}" for pattern in wanted.copy]
    include = source / INCLUDE
    if include.is_file():
        copies.append(f"--exclude-from={include}")
    links = [f"--exclude={pattern}" for pattern in wanted.link]
    bringing = _Bringing(source, target)
    # Links first: what is in a linked folder need not be copied.
    bringing.link(_matches(source, links, "--directory"))
    bringing.copy(_matches(source, copies))
    return tuple(bringing.warnings)


def _matches(source: Path, patterns: list[str], *options: str) -> list[str]:
    """The untracked paths that fit a pattern and that the repository ignores."""
    if not patterns:
        return []
    found = Git(source).run("ls-files", "-z", "--others", "--ignored", *options, *patterns)
    return ignored_among(source, os.fsdecode(found).split("\0")[:-1])


def ignored_among(top: Path, names: list[str]) -> list[str]:
    """Those of the paths, from the top of a working tree, that git ignores."""
    if not names:
        return []
    # The one command that does not take names as they are: nothing may stand before a colon.
    asked = "".join(f"./{name}\0" for name in names)
    git = Git(top, "--no-literal-pathspecs")
    # It ends with status 1 when there is none.
    answer = git.ask("check-ignore", "-z", "--stdin", stdin=os.fsencode(asked))
    return [name.removeprefix("./") for name in os.fsdecode(answer.output).split("\0")[:-1]]


class _Bringing:
    def __init__(self, source: Path, target: Path) -> None:
        self._source = source
        self._target = target
        self.warnings: list[str] = []

    def copy(self, names: list[str]) -> None:
        for name in names:
            try:
                there = self._place(name)
                if there is not None:
                    self._copy(name.rstrip("/"), there)
            except OSError as error:
                self._warn(name, error)

    def _copy(self, name: str, there: Path) -> None:
        source = self._source / name
        if source.is_symlink() and not source.readlink().is_absolute():
            target = Path(os.path.normpath(source.parent / source.readlink()))
            if self._source not in target.parents:
                # Seen from elsewhere, the way to what is outside is another one.
                there.symlink_to(target)
                return
        _copy(source, there)

    def link(self, names: list[str]) -> None:
        linked: list[str] = []
        for name in names:
            try:
                there = self._place(name)
                if there is not None:
                    there.symlink_to(self._source / name)
                    linked.append(name.rstrip("/"))
            except OSError as error:
                self._warn(name, error)
        self._hide_links(linked)

    def _hide_links(self, linked: list[str]) -> None:
        """The pattern `node_modules/` is for folders: git would show a link of that name as new.

        Such a link becomes a folder of links.
        """
        shown = set(linked) - set(ignored_among(self._target, linked))
        for name in sorted(shown):
            if (self._source / name).is_dir():
                try:
                    (self._target / name).unlink()
                    _link_all(self._source / name, self._target / name)
                except OSError as error:
                    self._warn(name, error)

    def _place(self, name: str) -> Path | None:
        """Where it goes, with the folders above it; None when something is there already."""
        there = self._target / name.rstrip("/")
        above = there
        while not os.path.lexists(above):
            above = above.parent
        # The snapshot may have a link where the source has a folder by now: it leads elsewhere.
        real = Path(os.path.realpath(self._target)) / above.relative_to(self._target)
        if above == there or Path(os.path.realpath(above)) != real:
            return None
        there.parent.mkdir(parents=True, exist_ok=True)
        return there

    def _warn(self, name: str, error: OSError) -> None:
        self.warnings.append(f"{name} was not brought along: {error.strerror or error}")


def _link_all(source: Path, target: Path) -> None:
    target.mkdir()
    with os.scandir(source) as entries:
        for entry in entries:
            there = target / entry.name
            if entry.is_symlink():
                # npm's workspaces: a link to `../packages/core` means that of this worktree.
                there.symlink_to(Path(entry.path).readlink())
            elif entry.is_dir() and entry.name.startswith(_SCOPE):
                _link_all(Path(entry.path), there)
            else:
                there.symlink_to(entry.path)


def _copy(source: Path, target: Path) -> None:
    """A copy of its own, never a hard link; a link stays a link."""
    mode = source.lstat().st_mode
    if stat.S_ISLNK(mode):
        target.symlink_to(source.readlink())
    elif stat.S_ISDIR(mode):  # a repository that is ignored as a whole
        target.mkdir()
        for inner in sorted(source.iterdir()):
            _copy(inner, target / inner.name)
        target.chmod(stat.S_IMODE(mode))
    elif stat.S_ISREG(mode):
        copy_file(source, target)


def copy_file(source: Path, target: Path) -> None:
    """With its permissions from the first instant on, for it may be a secret."""
    reading = os.open(source, _READING)
    try:
        status = os.fstat(reading)
        mode = stat.S_IMODE(status.st_mode)
        writing = os.open(target, _WRITING, mode & 0o777)
        try:
            _fill(reading, writing)
            with suppress(OSError):  # times and the like are a courtesy
                os.fchmod(writing, mode)
                os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _fill(reading: int, writing: int) -> None:
    if _shares_blocks(reading, writing):
        return
    while data := os.read(reading, _PIECE):
        while data:
            data = data[os.write(writing, data) :]


def _shares_blocks(reading: int, writing: int) -> bool:
    if sys.platform != "linux":
        return False
    try:
        fcntl.ioctl(writing, _FICLONE, reading)
    except OSError:  # not every file system can
        return False
    return True
