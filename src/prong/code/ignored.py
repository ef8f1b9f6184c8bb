"""Ignored files that a new worktree needs anyway, such as `.env` and `node_modules`.

Snapshots do not contain them. `.worktreeinclude`, a file of gitignore patterns that other tools
read too, selects them, together with two lists of patterns. Only files that git ignores in the
source are taken, never tracked ones, and nothing in the target is replaced.
"""

import fcntl
import os
import stat
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
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
"""Prefix of folders in `node_modules` that contain packages instead of being one."""


@dataclass(frozen=True)
class IgnoredFiles:
    """Which ignored files a worktree gets, as gitignore patterns."""

    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()


def bring(source: Path, target: Path, wanted: IgnoredFiles) -> tuple[str, ...]:
    """Copy and link ignored files from one working tree into another. Returns warnings."""
    copies = [f"--exclude={pattern}" for pattern in wanted.copy]
    include = source / INCLUDE
    if include.is_file():
        copies.append(f"--exclude-from={include}")
    links = [f"--exclude={pattern}" for pattern in wanted.link]
    bringing = _Bringing(source, target)
    # Links first: the content of a linked folder need not be copied.
    bringing.link(_matches(source, links, "--directory"))
    bringing.copy(_matches(source, copies))
    return tuple(bringing.warnings)


def _matches(source: Path, patterns: list[str], *options: str) -> list[str]:
    """List untracked, ignored paths that match a pattern."""
    if not patterns:
        return []
    output = Git(source).run("ls-files", "-z", "--others", "--ignored", *options, *patterns)
    return ignored_among(source, os.fsdecode(output).split("\0")[:-1])


def ignored_among(top: Path, names: list[str]) -> list[str]:
    """Return the paths, relative to the top of a working tree, that git ignores."""
    if not names:
        return []
    # This command rejects literal pathspecs; `./` protects names such as `:x`.
    stdin = "".join(f"./{name}\0" for name in names)
    git = Git(top, "--no-literal-pathspecs")
    # Status 1 means that no path is ignored.
    answer = git.ask("check-ignore", "-z", "--stdin", stdin=os.fsencode(stdin))
    return [name.removeprefix("./") for name in os.fsdecode(answer.output).split("\0")[:-1]]


class _Bringing:
    def __init__(self, source: Path, target: Path) -> None:
        self._source = source
        self._target = target
        self.warnings: list[str] = []

    def copy(self, names: list[str]) -> None:
        for name, destination in self._places(names):
            with self._warning(name):
                self._copy(self._source / name, destination)

    def _copy(self, source: Path, there: Path) -> None:
        if source.is_symlink() and not source.readlink().is_absolute():
            target = Path(os.path.normpath(source.parent / source.readlink()))
            if self._source not in target.parents:
                # A relative link to something outside would break in the target.
                there.symlink_to(target)
                return
        _copy(source, there)

    def link(self, names: list[str]) -> None:
        linked: list[str] = []
        for name, destination in self._places(names):
            with self._warning(name):
                destination.symlink_to(self._source / name)
                linked.append(name.rstrip("/"))
        # The pattern `node_modules/` matches folders only, not a link of that name: such a link
        # would show as new, so it becomes a folder of links.
        for name in sorted(set(linked) - set(ignored_among(self._target, linked))):
            if (self._source / name).is_dir():
                with self._warning(name):
                    (self._target / name).unlink()
                    _link_all(self._source / name, self._target / name)

    def _places(self, names: list[str]) -> Iterator[tuple[str, Path]]:
        """Yield where the named files and folders go, unless something exists there."""
        for name in names:
            with self._warning(name):
                if (destination := self._place(name)) is not None:
                    yield name, destination

    def _place(self, name: str) -> Path | None:
        """Return the target path, with parent folders created; None if something exists there."""
        destination = self._target / name.rstrip("/")
        above = destination
        while not os.path.lexists(above):
            above = above.parent
        # A link in the target, where the source now has a folder, leads elsewhere.
        real = Path(os.path.realpath(self._target)) / above.relative_to(self._target)
        if above == destination or Path(os.path.realpath(above)) != real:
            return None
        destination.parent.mkdir(parents=True, exist_ok=True)
        return destination

    @contextmanager
    def _warning(self, name: str) -> Generator[None]:
        try:
            yield
        except OSError as error:
            self.warnings.append(f"{name} was not brought along: {error.strerror or error}")


def _link_all(source: Path, target: Path) -> None:
    target.mkdir()
    with os.scandir(source) as entries:
        for entry in entries:
            destination = target / entry.name
            if entry.is_symlink():
                # npm workspaces: `../packages/core` means the one in this worktree.
                destination.symlink_to(Path(entry.path).readlink())
            elif entry.is_dir() and entry.name.startswith(_SCOPE):
                _link_all(Path(entry.path), destination)
            else:
                destination.symlink_to(entry.path)


def _copy(source: Path, target: Path) -> None:
    """Copy a file, link or folder; never as a hard link, and links stay links."""
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
    """Copy a file, with restrictive permissions from the start: it may be a secret."""
    reading = os.open(source, _READING)
    try:
        status = os.fstat(reading)
        mode = stat.S_IMODE(status.st_mode)
        writing = os.open(target, _WRITING, mode & 0o777)
        try:
            _fill(reading, writing)
            with suppress(OSError):  # metadata is best effort
                os.fchmod(writing, mode)
                os.utime(writing, ns=(status.st_atime_ns, status.st_mtime_ns))
        finally:
            os.close(writing)
    finally:
        os.close(reading)


def _fill(reading: int, writing: int) -> None:
    if sys.platform == "linux":
        with suppress(OSError):  # not supported by every file system
            fcntl.ioctl(writing, _FICLONE, reading)
            return
    while data := os.read(reading, _PIECE):
        while data:
            data = data[os.write(writing, data) :]
