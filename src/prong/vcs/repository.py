"""A repository as it is found from a folder: where its parts lie, and where its head is."""

import os
from pathlib import Path
from typing import NamedTuple

from prong.errors import External, Unavailable
from prong.vcs.git import Answer, Git, Running

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
    def ask(git: Git) -> Running:
        """Begin to look; `found` reads the answer."""
        # What may fail comes last: the lines before it, and what failed, are printed all the same.
        head = ("HEAD", "HEAD^{tree}", "--symbolic-full-name", "HEAD")
        return git.start("rev-parse", "--path-format=absolute", *_PATHS, *head)

    @classmethod
    def found(cls, git: Git, answer: Answer) -> "Repository | None":
        lines = answer.output.split(b"\n")[:-1]
        if len(lines) < 4:
            if any(words in answer.complaint for words in _NOWHERE):
                return None
            raise _refused(answer)
        if lines[0].startswith(b"--"):
            raise Unavailable("git is too old", hint="install git 2.31 or newer")
        top, git_dir, common_dir, index = (Path(os.fsdecode(line)) for line in lines[:4])
        expected = (7,) if answer.ok else (5, 6)
        if len(lines) not in expected or not all(line.startswith(b"/") for line in lines[:4]):
            raise External(f"{top} has a line break in its name: git cannot say where it is")
        if not answer.ok:
            name = git.ask("symbolic-ref", "-q", "HEAD").output.strip()
            return cls(top, git_dir, common_dir, index, None, None, _branch(name))
        head, head_tree = (line.decode() for line in lines[4:6])
        return cls(top, git_dir, common_dir, index, head, head_tree, _branch(lines[6]))


def _branch(ref: bytes) -> str | None:
    prefix = b"refs/heads/"
    return os.fsdecode(ref.removeprefix(prefix)) if ref.startswith(prefix) else None


def _refused(answer: Answer) -> External:
    dubious = "dubious ownership" in answer.complaint
    return External(
        f"git does not open this repository: {answer.complaint.strip().splitlines()[0]}"
        if answer.complaint.strip()
        else "git does not open this repository",
        hint="git config --global --add safe.directory <folder>" if dubious else None,
        stderr=answer.complaint,
    )
