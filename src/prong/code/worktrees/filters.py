"""Files of which git stores something else than what lies in the working tree: LFS, git-crypt.

A snapshot has what git stores of them, as long as they were not changed. What lay in the working
tree is copied from the source, where it still is so, and the content of an LFS file from where
git-lfs keeps it. No filter is asked to make it: that may take long, ask for a password, or fetch
things from far away. Of the copies git is to know that they are what it stores: for that the filter
runs once over each, the other way.
"""

import filecmp
import os
from pathlib import Path

from prong.code import filtered, lfs
from prong.code.git import Git
from prong.code.ignored import copy_file
from prong.code.submodules import LEFT_OUT
from prong.code.worktrees.checkout import settle
from prong.code.worktrees.record import common_of, entry_of
from prong.model.code import Snapshot

_CONFIGURED = ("config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(smudge|process)$")
_CHANGED = ("diff-tree", "-r", "-z", "--name-only", "--no-renames")
_ATTRIBUTES = b".gitattributes\0"
_ALIKE = 1 << 20
"""Bytes. A larger file is not what git stores instead of it."""
_NAMED = 5
"""This many files are named."""


def bring_filtered(snapshot: Snapshot, path: Path, listing: bytes) -> tuple[str, ...]:
    """Returns warnings. `listing` has the names of all files in the index."""
    if _ATTRIBUTES not in listing:
        return ()
    git, source = Git(path, filters=True), Git(snapshot.repo)
    filters = {_filter(name) for name in git.ask(*_CONFIGURED).output.split(b"\0")[:-1]}
    if not filters or snapshot.staged_tree is None:
        return ()
    tracked = git.run("ls-files", "-z")
    fields = git.run("check-attr", "-z", "--stdin", "filter", stdin=tracked).split(b"\0")
    wanted = {
        name for name, value in zip(fields[::3], fields[2::3], strict=False) if value in filters
    }
    captured = git.run(*_CHANGED, snapshot.staged_tree, snapshot.tree).split(b"\0")
    wanted -= {*captured}
    if not wanted:
        return ()
    same = _staged(git) & _staged(source)
    differing = source.ask("diff-files", "-z", "--name-only", LEFT_OUT).output.split(b"\0")[:-1]
    dirty = {*differing} - filtered.unchanged(source, os.fsencode(snapshot.repo), differing)
    at_hand = {line.partition(b"\t")[2] for line in same} - dirty
    missing: list[str] = []
    copied: set[bytes] = set()
    store = lfs.store_of(git, common_of(path) or path)
    for name in map(os.fsdecode, sorted(wanted)):
        if os.fsencode(name) not in at_hand:
            if _check_out(store, path / name):
                copied.add(os.fsencode(name))
            else:
                missing.append(name)
        elif not _is_same(snapshot.repo / name, path / name):
            (path / name).unlink()
            copy_file(snapshot.repo / name, path / name)
            copied.add(os.fsencode(name))
    if copied:
        _forget_sizes(git, path, copied)
    if not missing:
        return ()
    names = ", ".join(missing[:_NAMED])
    names += f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return (f"as git stores them, without their filter (try git lfs pull): {names}",)


def _check_out(store: Path, target: Path) -> bool:
    """Replace an LFS pointer by the content that the repository has."""
    if target.is_symlink() or not target.is_file() or target.stat().st_size > _ALIKE:
        return False
    pointer = lfs.read_pointer(target.name, target.read_bytes())
    content = lfs.stored(store, pointer) if pointer else None
    return bool(pointer and content and lfs.check_out(content, pointer, target))


def _forget_sizes(git: Git, path: Path, names: set[bytes]) -> None:
    """Let git, and the next snapshot, know that these files are not changed.

    Git takes a file of another size for changed. So it must forget the size, and look: at these
    only, for a filter may see changes in the others, which are what git stores.
    """
    lines = [line for line in _staged(git) if line.partition(b"\t")[2] in names]
    entries = b"".join(line + b"\0" for line in lines)
    index = entry_of(path) / "index"
    git.run("update-index", "-z", "--index-info", stdin=entries)
    settle(index)
    git.ask("update-index", "-q", "--refresh")
    settle(index)


def _filter(setting: bytes) -> bytes:
    """`filter.lfs.smudge` -> `lfs`."""
    return setting.split(b".", 1)[1].rpartition(b".")[0]


def _staged(git: Git) -> set[bytes]:
    return {*git.ask("ls-files", "-z", "-s").output.split(b"\0")[:-1]}


def _is_same(source: Path, target: Path) -> bool:
    if source.is_symlink() or not source.is_file() or not target.is_file():
        return True  # nothing that a filter made
    size = source.stat().st_size
    same_size = size == target.stat().st_size and size < _ALIKE
    return same_size and filecmp.cmp(source, target, shallow=False)
