"""Queries about a snapshot that run while its files are written."""

from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from prong.code.git import Git
from prong.model.code import Snapshot


@dataclass(frozen=True)
class Commit:
    """A commit in raw form: git would re-encode a message that it prints."""

    tree: str
    parents: tuple[str, ...]
    message: bytes

    @classmethod
    def read(cls, repo: Path, commit: str) -> "Commit":
        return cls.parse(Git(repo).run("cat-file", "commit", commit))

    @classmethod
    def parse(cls, content: bytes) -> "Commit":
        head, _, message = content.partition(b"\n\n")
        lines = [line.decode(errors="replace").partition(" ") for line in head.split(b"\n")]
        tree = next((value for name, _, value in lines if name == "tree"), "")
        return cls(tree, tuple(value for name, _, value in lines if name == "parent"), message)


class Questions:
    """Git processes that start at once; each result can be read once."""

    def __init__(self, snapshot: Snapshot) -> None:
        git = Git(snapshot.repo)
        self._commit = git.start("cat-file", "commit", snapshot.commit)
        self._listing = git.start("ls-files", "-z", "-v", "-c")
        command = ("ls-tree", "-r", "-z", "--name-only")
        if snapshot.head is not None:
            command = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", snapshot.head)
        trees = {snapshot.tree, snapshot.staged_tree or snapshot.tree}
        self._changed = [git.start(*command, tree) for tree in trees]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for running in (self._commit, self._listing, *self._changed):
            running.kill()

    def commit(self) -> Commit:
        """Return the commit of the snapshot."""
        return Commit.parse(self._commit.answer().expect())

    def listing(self) -> bytes:
        """Return the files in the source's index, with their flags."""
        return self._listing.answer().output

    def changed(self) -> set[bytes]:
        """Return the names of files that differ from the head, staged or not."""
        names: set[bytes] = set()
        for running in self._changed:
            names.update(running.answer().expect().split(b"\0")[:-1])
        return names
