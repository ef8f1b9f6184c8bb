"""What differs between two snapshots, file by file and line by line.

Plumbing: no setting of the user's changes what comes out, and no program of theirs runs.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prong.code.git import Git
from prong.code.snapshots import message, refs
from prong.code.worktrees.snapshot_tree import Commit
from prong.errors import External
from prong.model.code import Snapshot

Status = Literal["added", "deleted", "modified", "renamed", "type changed"]

_OPTIONS = (
    *("diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative"),
    *("--submodule=short", "--ignore-submodules=none"),
)
_STATUSES: dict[bytes, Status] = {
    b"A": "added",
    b"D": "deleted",
    b"M": "modified",
    b"R": "renamed",
    b"T": "type changed",
}


@dataclass(frozen=True)
class FileChange:
    """What became of one file. Undecodable bytes of its name are surrogates, as in `os`."""

    path: str
    status: Status
    added: int
    removed: int
    is_binary: bool = False
    """Then there are no lines to count."""
    old_path: str | None = None
    """What a renamed file was called before."""


@dataclass(frozen=True)
class Sides:
    """A repository, and the two trees in it that are compared."""

    repo: Path
    old: str
    new: str
    prefix: str = ""
    """Where it lies in the outer repository, with a slash behind."""


def has(repo: Path, *objects: str) -> bool:
    """Whether the repository has all of these objects."""
    try:
        return refs.present(repo, objects).issuperset(objects)
    except External:
        return False  # it is none any more


def sides(repo: Path, old: Snapshot, new: Snapshot) -> tuple[list[Sides], list[str]]:
    """The trees to compare, those of repositories inside the repository as well.

    Then the paths of inner repositories that cannot be compared: they are gone, or are others.
    """
    lost: list[str] = []
    found = list(_sides(repo, (old.tree, old), (new.tree, new), "", lost))
    return found, lost


def files(compared: Iterable[Sides], paths: Sequence[str] = ()) -> list[FileChange]:
    """The files that differ, by name; only these files and those below these folders, if any."""
    found: list[FileChange] = []
    for one, words in _chosen(compared, paths):
        command = (*_OPTIONS, "-z", "-M", "--raw", "--numstat", one.old, one.new, *words)
        found += _parsed(Git(one.repo).run(*command), one.prefix)
    return found


def patch(compared: Iterable[Sides], paths: Sequence[str] = (), *, binary: bool = False) -> bytes:
    """The difference as `git apply` reads it; without `binary` only if all of it is text."""
    found = b""
    for one, words in _chosen(compared, paths):
        # In the lines about a rename git would leave the prefix out.
        renames = "--no-renames" if one.prefix else "-M"
        places = (f"--src-prefix=a/{one.prefix}", f"--dst-prefix=b/{one.prefix}")
        content = ("--binary",) if binary else ()
        command = (*_OPTIONS, "-p", renames, *places, *content, one.old, one.new, *words)
        found += Git(one.repo).run(*command)
    return found


_State = tuple[str | None, Snapshot | None]
"""A tree, or None for nothing, and the snapshot that it is of."""


def _sides(repo: Path, old: _State, new: _State, prefix: str, lost: list[str]) -> Iterator[Sides]:
    trees = [tree or Git(repo).empty_tree() for tree, _ in (old, new)]
    if trees[0] != trees[1]:
        yield Sides(repo, trees[0], trees[1], prefix)
    for name in {**_nested(old[1]), **_nested(new[1])}:
        inner = repo / name
        place = f"{prefix}{name}/"
        try:
            states = [_state_inside(repo, tree, snapshot, name) for tree, snapshot in (old, new)]
            wanted = [tree for tree, _ in states if tree]
            if not inner.is_dir() or not has(inner, *wanted):
                lost.append(place)
                continue
            yield from _sides(inner, states[0], states[1], place, lost)
        except _Unreadable:
            lost.append(place)


class _Unreadable(Exception):
    """The inner repository does not have what the outer one says."""


def _state_inside(repo: Path, tree: str | None, snapshot: Snapshot | None, name: str) -> _State:
    """What an inner repository was at one side."""
    inner = repo / name
    commit = _nested(snapshot).get(name)
    if commit is None:
        # Not in the snapshot, since nothing had been done to it: then it is at its commit.
        commit = _linked(repo, tree, name) if tree else None
        return (_tree_of(inner, commit), None) if commit else (None, None)
    if not inner.is_dir() or not has(inner, commit):
        raise _Unreadable
    read = Commit.read(inner, commit)
    return read.tree, message.read(inner, "", commit, read.tree, read.message)


def _nested(snapshot: Snapshot | None) -> dict[str, str]:
    """Path -> commit of the repositories inside."""
    return {one.path: one.commit for one in snapshot.nested} if snapshot else {}


def _linked(repo: Path, tree: str, name: str) -> str | None:
    """The commit that a tree has in the place of an inner repository."""
    line = Git(repo).run("ls-tree", "-z", tree, "--", name).split(b"\t")[0].split()
    return line[2].decode() if len(line) == 3 and line[1] == b"commit" else None


def _tree_of(repo: Path, commit: str) -> str:
    if not repo.is_dir() or not has(repo, commit):
        raise _Unreadable
    return Git(repo).run("rev-parse", f"{commit}^{{tree}}").decode().strip()


def _chosen(
    compared: Iterable[Sides], paths: Sequence[str]
) -> Iterator[tuple[Sides, tuple[str, ...]]]:
    """Each side with the words that choose the paths in it; not those where none can be."""
    for one in compared:
        if not paths or any(one.prefix.startswith(f"{path}/") for path in paths):
            yield one, ()
            continue
        inside = [path[len(one.prefix) :] for path in paths if path.startswith(one.prefix)]
        if inside:
            yield one, ("--", *inside)


def _parsed(output: bytes, prefix: str) -> list[FileChange]:
    """First come all files with their status, then all of them with their lines."""
    fields = iter(output.split(b"\0")[:-1])
    statuses: dict[bytes, Status] = {}
    found: list[FileChange] = []
    for field in fields:
        if field.startswith(b":"):
            status = field.split(b" ")[-1][:1]
            name = next(fields)
            # A renamed file has its old name first.
            statuses[next(fields) if status == b"R" else name] = _STATUSES.get(status, "modified")
            continue
        added, removed, name = field.split(b"\t", 2)
        old = None if name else next(fields)
        name = name or next(fields)
        found.append(
            FileChange(
                path=prefix + os.fsdecode(name),
                status=statuses.get(name, "modified"),
                added=int(added) if added.isdigit() else 0,
                removed=int(removed) if removed.isdigit() else 0,
                is_binary=added == b"-",
                old_path=None if old is None else prefix + os.fsdecode(old),
            )
        )
    return found
