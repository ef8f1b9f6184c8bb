"""A repository as it is found from a folder: where its parts lie, and where its head is."""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from prong.code.git import Git, GitResult, RunningGit
from prong.errors import External, ProngError, Unavailable, Unsupported

_PATHS = ("--show-toplevel", "--git-dir", "--git-common-dir", "--git-path", "index")
_NOWHERE = ("not a git repository", "must be run in a work tree")
"""What git says where there is no code to capture."""


class Repository(NamedTuple):
    """One working tree and the repository behind it."""

    top: Path
    git_dir: Path
    """Of this working tree; all of them share `common_dir`."""
    common_dir: Path
    index_file: Path
    head: str | None
    """None where nothing was committed yet."""
    head_tree: str | None
    branch: str | None
    """None when the head is detached."""

    @classmethod
    def find(cls, folder: Path) -> "Repository | None":
        """None where there is no git, or no working tree."""
        git = Git(folder)
        return cls.found(git, cls.ask(git).answer())

    @staticmethod
    def ask(git: Git) -> RunningGit:
        """Begin to look; `found` reads the answer."""
        # What may fail comes last: the lines before it, and what failed, are printed all the same.
        head = ("HEAD", "HEAD^{tree}", "--symbolic-full-name", "HEAD")
        return git.start("rev-parse", "--path-format=absolute", *_PATHS, *head)

    @classmethod
    def found(cls, git: Git, answer: GitResult) -> "Repository | None":
        lines = answer.output.split(b"\n")[:-1]
        if len(lines) < 4:
            if any(words in answer.complaint for words in _NOWHERE):
                return None
            raise _refused(answer)
        if lines[0].startswith(b"--"):
            raise Unavailable("git is too old", hint="install git 2.31 or newer")
        top, git_dir, common_dir, index = (Path(os.fsdecode(line)) for line in lines[:4])
        if answer.ok and len(lines) == 6:
            # Where a branch or a tag is called HEAD, the last question has no answer.
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
        """The same with the head of this moment. If it is where it was, git is not asked."""
        if self._says_head():
            return self
        now = Repository.find(self.top)
        if now is None:
            return self
        return self._replace(head=now.head, head_tree=now.head_tree, branch=now.branch)

    def _says_head(self) -> bool:
        """Whether git's files have the head where it was; False also where they do not say it."""
        try:
            said = (self.git_dir / "HEAD").read_bytes().strip()
            if not said.startswith(b"ref: "):
                return self.branch is None and said == (self.head or "").encode()
            ref = said.removeprefix(b"ref: ")
            return _branch(ref) == self.branch and self._commit_of(ref) == self.head
        except OSError:
            return False

    def _commit_of(self, ref: bytes) -> str | None:
        """What the files say: one of its own, or a line among those of all."""
        try:
            return (self.common_dir / os.fsdecode(ref)).read_text(errors="replace").strip()
        except FileNotFoundError:
            pass
        try:
            packed = (self.common_dir / "packed-refs").read_bytes()
        except FileNotFoundError:
            return None
        end = packed.find(b" %s\n" % ref)
        return None if end < 0 else packed[packed.rfind(b"\n", 0, end) + 1 : end].decode()


def _branch(ref: bytes) -> str | None:
    prefix = b"refs/heads/"
    return os.fsdecode(ref.removeprefix(prefix)) if ref.startswith(prefix) else None


def _refused(answer: GitResult) -> External:
    dubious = "dubious ownership" in answer.complaint
    return External(
        f"git does not open this repository: {answer.complaint.strip().splitlines()[0]}"
        if answer.complaint.strip()
        else "git does not open this repository",
        hint="git config --global --add safe.directory <folder>" if dubious else None,
        stderr=answer.complaint,
    )


def comes_along(folder: Path, other: Path) -> bool:
    """True when a folder's repository lies in that of another folder, and is captured with it.

    A further worktree of the same repository is not, nor one that git ignores there.
    """
    inner, outer = _top(folder), _top(other)
    # Nearly always it is the same one, which is seen without git.
    if inner is None or outer is None or outer not in inner.parents:
        return False
    with suppress(ProngError):
        there, around = Repository.find(inner), Repository.find(outer)
        if there is None or around is None or there.common_dir == around.common_dir:
            return False
        from prong.code.ignored import ignored_among  # slow to load

        name = os.path.relpath(there.top, around.top)
        return not ignored_among(around.top, [name])
    return False


def _top(folder: Path) -> Path | None:
    real = Path(os.path.realpath(folder))
    return next((one for one in (real, *real.parents) if (one / ".git").exists()), None)
