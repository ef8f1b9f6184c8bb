"""Differences between two snapshots, file by file and line by line.

Git plumbing: the user's settings do not affect the output, and none of their programs runs.
"""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from prong.code.git import Git
from prong.code.snapshots import refs
from prong.code.worktrees.record import common_of
from prong.errors import External, NotFound, ProngError
from prong.log import debug
from prong.model.code import DiffStat, Snapshot
from prong.model.record import replace
from prong.model.sessions import Turn

Status = Literal["added", "deleted", "modified", "renamed", "type changed"]

_OPTIONS = (
    *("diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative"),
    *("--submodule=short", "--ignore-submodules=none"),
)
_PAIR = re.compile(rb"[0-9a-f]{40,64} [0-9a-f]{40,64}\n")
_COUNTS = ("--stdin", "-r", "-z", "-M", "--numstat", "--no-ext-diff", "--no-textconv")
_STATUSES: dict[bytes, Status] = {
    b"A": "added",
    b"D": "deleted",
    b"M": "modified",
    b"R": "renamed",
    b"T": "type changed",
}


@dataclass(frozen=True)
class FileChange:
    """The change of one file. Undecodable bytes of its name are surrogates, as in `os`."""

    path: str
    status: Status
    added: int
    removed: int
    is_binary: bool = False
    """Binary files have no line counts."""
    old_path: str | None = None
    """The former path of a renamed file."""


@dataclass(frozen=True)
class Sides:
    """Two trees of a repository to compare."""

    repo: Path
    old: str
    new: str
    prefix: str = ""
    """The path of a nested repository in the outer one, with a trailing slash."""


def has(repo: Path, *objects: str) -> bool:
    try:
        return refs.present(repo, objects).issuperset(objects)
    except External:
        return False  # no longer a repository


def sides(repo: Path, old: Snapshot, new: Snapshot) -> tuple[list[Sides], list[str]]:
    """List the trees to compare, nested ones too, and nested paths that are gone or replaced."""
    lost: list[str] = []
    return list(_sides(repo, (old.tree, old), (new.tree, new), "", lost)), lost


def files(compared: Iterable[Sides], paths: Sequence[str] = ()) -> list[FileChange]:
    """List changed files by name, limited to these files and folders if any are given."""
    changes: list[FileChange] = []
    for side, limits in _chosen(compared, paths):
        command = (*_OPTIONS, "-z", "-M", "--raw", "--numstat", side.old, side.new, *limits)
        changes += _file_changes(Git(side.repo).run(*command), side.prefix)
    return changes


def patch(compared: Iterable[Sides], paths: Sequence[str] = (), *, binary: bool = False) -> bytes:
    """Return the difference in the format of `git apply`; without `binary`, only if all is text."""
    output = b""
    for side, limits in _chosen(compared, paths):
        # Git would leave the prefix out of the lines about a rename.
        renames = "--no-renames" if side.prefix else "-M"
        prefixes = (f"--src-prefix=a/{side.prefix}", f"--dst-prefix=b/{side.prefix}")
        content = ("--binary",) if binary else ()
        command = (*_OPTIONS, "-p", renames, *prefixes, *content, side.old, side.new, *limits)
        output += Git(side.repo).run(*command)
    return output


_State = tuple[str | None, Snapshot | None]
"""A tree (None: empty) and the snapshot it belongs to."""


def _sides(repo: Path, old: _State, new: _State, prefix: str, lost: list[str]) -> Iterator[Sides]:
    trees = [tree or Git(repo).empty_tree() for tree, _ in (old, new)]
    if trees[0] != trees[1]:
        yield Sides(repo, trees[0], trees[1], prefix)
    for name in {**_nested(old[1]), **_nested(new[1])}:
        inner = repo / name
        path = f"{prefix}{name}/"
        try:
            states = [_state_inside(repo, tree, snapshot, name) for tree, snapshot in (old, new)]
            needed = [tree for tree, _ in states if tree]
            if not inner.is_dir() or not has(inner, *needed):
                lost.append(path)
                continue
            yield from _sides(inner, states[0], states[1], path, lost)
        except _Unreadable:
            lost.append(path)


class _Unreadable(Exception):
    """A nested repository lacks the commit that the outer one refers to."""


def _state_inside(repo: Path, tree: str | None, snapshot: Snapshot | None, name: str) -> _State:
    """Return the state of a nested repository on one side."""
    inner = repo / name
    commit = _nested(snapshot).get(name)
    if commit is None:
        # Not in the snapshot because it was unchanged: then it is at its commit.
        commit = _linked(repo, tree, name) if tree else None
        return (_tree_of(inner, commit), None) if commit else (None, None)
    if not inner.is_dir() or not has(inner, commit):
        raise _Unreadable
    stored, snapshot = refs.at(inner, commit)
    return stored.tree, snapshot


def _nested(snapshot: Snapshot | None) -> dict[str, str]:
    return {inner.path: inner.commit for inner in snapshot.nested} if snapshot else {}


def _linked(repo: Path, tree: str, name: str) -> str | None:
    """Return the commit that a tree records for a submodule."""
    line = Git(repo).run("ls-tree", "-z", tree, "--", name).split(b"\t")[0].split()
    return line[2].decode() if len(line) == 3 and line[1] == b"commit" else None


def _tree_of(repo: Path, commit: str) -> str:
    if not repo.is_dir() or not has(repo, commit):
        raise _Unreadable
    return Git(repo).run("rev-parse", f"{commit}^{{tree}}").decode().strip()


def _chosen(
    compared: Iterable[Sides], paths: Sequence[str]
) -> Iterator[tuple[Sides, tuple[str, ...]]]:
    """Pair each side with the arguments that limit it to the paths; skip sides without any."""
    for side in compared:
        if not paths or any(side.prefix.startswith(f"{path}/") for path in paths):
            yield side, ()
            continue
        inside = [path[len(side.prefix) :] for path in paths if path.startswith(side.prefix)]
        if inside:
            yield side, ("--", *inside)


def _file_changes(output: bytes, prefix: str) -> list[FileChange]:
    """Parse the output: first the statuses of all files, then all line counts."""
    fields = iter(output.split(b"\0")[:-1])
    statuses: dict[bytes, Status] = {}
    changes: list[FileChange] = []
    for field in fields:
        if field.startswith(b":"):
            status = field.split(b" ")[-1][:1]
            name = next(fields)
            # For a rename, the old name comes first.
            statuses[next(fields) if status == b"R" else name] = _STATUSES.get(status, "modified")
            continue
        added, removed, name = field.split(b"\t", 2)
        old = None if name else next(fields)
        name = name or next(fields)
        changes.append(
            FileChange(
                path=prefix + os.fsdecode(name),
                status=statuses.get(name, "modified"),
                added=_number(added),
                removed=_number(removed),
                is_binary=added == b"-",
                old_path=None if old is None else prefix + os.fsdecode(old),
            )
        )
    return changes


def with_changes(
    turns: Iterable[Turn],
    captured: Mapping[str, Snapshot],
    began: Mapping[str, Snapshot],
    is_late: Callable[[Snapshot, Turn], bool],
) -> list[Turn]:
    """Add to turns their snapshots, and what they changed since they began."""
    changes = _changes_since(began, captured)
    return [
        replace(
            turn,
            snapshot=snapshot.commit,
            changes=changes.get(turn.id),
            since_prompt=not began[turn.id].key.is_turn if changes.get(turn.id) else None,
            late=is_late(snapshot, turn),
        )
        if (snapshot := captured.get(turn.id))
        else turn
        for turn in turns
    ]


def _changes_since(
    began: Mapping[str, Snapshot], found: Mapping[str, Snapshot]
) -> dict[str, DiffStat]:
    """Compute what each turn changed, whether committed or not."""
    pairs: dict[Path, dict[str, tuple[str, str]]] = defaultdict(dict)
    for turn_id, before in began.items():
        after = found.get(turn_id)
        # Only trees of one repository can be compared.
        if after and (
            before.repo == after.repo or common_of(before.repo) == common_of(after.repo) is not None
        ):
            pairs[after.repo][turn_id] = (before.tree, after.tree)
    changes: dict[str, DiffStat] = {}
    for repository, trees in pairs.items():
        try:
            stats = diffstats(repository, list(trees.values()))
        except ProngError as error:
            debug(__name__, "nothing is known of the changes in %s: %s", repository, error)
        else:
            changes.update(zip(trees, stats, strict=True))
    return changes


def diffstats(repository: Path, pairs: Sequence[tuple[str | None, str]]) -> list[DiffStat]:
    """Count what changed from the first tree of each pair (None: empty) to the second."""
    if not pairs:
        return []
    git = Git(repository)
    nothing = git.empty_tree() if any(old is None for old, _ in pairs) else ""
    stdin = "".join(f"{old or nothing} {new}\n" for old, new in pairs)
    # A header line per pair, followed by NUL-terminated entries with arbitrary names.
    stats: list[DiffStat] = []
    fields = iter(git.run("diff-tree", *_COUNTS, stdin=stdin.encode()).split(b"\0"))
    for field in fields:
        entry = field
        while pair := _PAIR.match(entry):
            stats.append(DiffStat(0, 0, 0))
            entry = entry[pair.end() :]
        if entry:
            added, removed, name = entry.split(b"\t", 2)
            if not name:
                _names = next(fields), next(fields)  # a rename has the old and the new name
            last = stats[-1]
            counts = last.added + _number(added), last.removed + _number(removed)
            stats[-1] = DiffStat(last.files + 1, *counts)
    if len(stats) != len(pairs):
        raise NotFound(f"{repository} does not have all of these trees")
    return stats


def _number(text: bytes) -> int:
    # A dash stands for a binary file.
    return int(text) if text.isdigit() else 0
