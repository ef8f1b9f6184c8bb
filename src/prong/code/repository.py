"""A git repository seen from a folder: the paths of its parts, and its head."""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from prong.code.git import Git, GitResult, RunningGit
from prong.errors import External, ProngError, Unavailable, Unsupported
from prong.files.regular import open_regular, read_regular

_PATHS = ("--show-toplevel", "--git-dir", "--git-common-dir", "--git-path", "index")
_NOWHERE = ("not a git repository", "must be run in a work tree")
"""What git prints where there is no code to capture."""
_READ = ("info/exclude", "info/attributes", "packed-refs", "shallow", "objects/info/alternates")
"""Files of the git folder that git reads whole: in place of one, a pipe makes it wait for ever."""


class Repository(NamedTuple):
    """A working tree and its repository."""

    top: Path
    git_dir: Path
    """The git folder of this working tree; all working trees share `common_dir`."""
    common_dir: Path
    index_file: Path
    head: str | None
    """None before the first commit."""
    head_tree: str | None
    branch: str | None
    """None if the head is detached."""

    @classmethod
    def find(cls, folder: Path) -> "Repository | None":
        """Find the repository of a folder; None without git or working tree."""
        git = Git(folder)
        return cls.found(git, cls.ask(git).answer())

    @staticmethod
    def ask(git: Git) -> RunningGit:
        """Start the query; `found` parses its answer."""
        # The part that may fail comes last: git still prints the lines before it.
        head = ("HEAD", "HEAD^{tree}", "--symbolic-full-name", "HEAD")
        return git.start("rev-parse", "--path-format=absolute", *_PATHS, *head)

    @classmethod
    def found(cls, git: Git, answer: GitResult) -> "Repository | None":
        lines = answer.output.split(b"\n")[:-1]
        if len(lines) < 4:
            if any(words in answer.complaint for words in _NOWHERE):
                return None
            first = "".join(f": {line}" for line in answer.complaint.strip().splitlines()[:1])
            dubious = "dubious ownership" in answer.complaint
            raise External(
                f"git does not open this repository{first}",
                hint="git config --global --add safe.directory <folder>" if dubious else None,
                stderr=answer.complaint,
            )
        if lines[0].startswith(b"--"):
            raise Unavailable("git is too old", hint="install git 2.31 or newer")
        top, git_dir, common_dir, index = (Path(os.fsdecode(line)) for line in lines[:4])
        refuse_pipes([index, *(common_dir / name for name in _READ)])
        if answer.ok and len(lines) == 6:
            # If a branch or tag is called HEAD, the last question has no answer.
            lines.append(git.ask("symbolic-ref", "-q", "HEAD").output.strip())
        expected = (7,) if answer.ok else (5, 6)
        if len(lines) not in expected or not all(line.startswith(b"/") for line in lines[:4]):
            raise Unsupported(
                f"{top} has a line break in its name: git cannot say where it is",
                hint="rename the folder",
            )
        if not answer.ok:
            name = git.ask("symbolic-ref", "-q", "HEAD").output.strip()
            return cls(top, git_dir, common_dir, index, None, None, _branch(name))
        head, head_tree = (line.decode() for line in lines[4:6])
        return cls(top, git_dir, common_dir, index, head, head_tree, _branch(lines[6]))

    def now(self) -> "Repository":
        """Return the repository with its current head. Runs git only if the head moved."""
        if self._says_head():
            return self
        now = Repository.find(self.top)
        if now is None:
            return self
        return self._replace(head=now.head, head_tree=now.head_tree, branch=now.branch)

    def _says_head(self) -> bool:
        """Tell whether git's files show an unchanged head; also False if they do not show it."""
        try:
            content = read_regular(self.git_dir / "HEAD").strip()
            if not content.startswith(b"ref: "):
                return self.branch is None and content == (self.head or "").encode()
            ref = content.removeprefix(b"ref: ")
            return _branch(ref) == self.branch and self._commit_of(ref) == self.head
        except OSError:
            return False

    def _commit_of(self, ref: bytes) -> str | None:
        """Read the commit of a ref from its own file or from `packed-refs`."""
        try:
            content = read_regular(self.common_dir / os.fsdecode(ref))
            return content.decode(errors="replace").strip()
        except FileNotFoundError:
            pass
        try:
            with open_regular(self.common_dir / "packed-refs") as file:
                packed = file.read()
        except FileNotFoundError:
            return None
        end = packed.find(b" %s\n" % ref)
        return None if end < 0 else packed[packed.rfind(b"\n", 0, end) + 1 : end].decode()


def refuse_pipes(files: Iterable[Path]) -> None:
    """Raise `External` for a named pipe in place of a file that git would read."""
    for path in files:
        with suppress(OSError):
            if stat.S_ISFIFO(path.stat().st_mode):
                raise External(
                    f"git cannot use this repository: {path} is a pipe",
                    hint="remove it",
                    path=str(path),
                )


def _branch(ref: bytes) -> str | None:
    prefix = b"refs/heads/"
    return os.fsdecode(ref.removeprefix(prefix)) if ref.startswith(prefix) else None


def comes_along(folder: Path, other: Path) -> bool:
    """Tell whether a folder's repository is nested in another, and captured with it."""
    inner, outer = _top(folder), _top(other)
    # Usually both are the same, which needs no git.
    if inner is None or outer is None or outer not in inner.parents:
        return False
    with suppress(ProngError):
        nested, parent = Repository.find(inner), Repository.find(outer)
        if nested is None or parent is None or nested.common_dir == parent.common_dir:
            return False
        from prong.code.ignored import ignored_among  # slow to load

        name = os.path.relpath(nested.top, parent.top)
        return not ignored_among(parent.top, [name])
    return False


def _top(folder: Path) -> Path | None:
    real = Path(os.path.realpath(folder))
    return next((path for path in (real, *real.parents) if os.path.exists(path / ".git")), None)
