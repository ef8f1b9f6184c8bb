"""Files that git stores in another form than they have in the working tree: LFS, git-crypt.

A snapshot has the stored form of unchanged files. Their content is copied from the source if it is
still the same there, and for LFS files from the store of git-lfs. Filters are not run to produce
it: that may take long, prompt for a password, or download things. The filter runs once over each
copy in the other direction, so that git knows that the copy is unchanged.
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
"""Bytes. A larger file is not a stored form."""
_NAMED = 5
"""Maximum number of files named in a warning."""


def bring_filtered(snapshot: Snapshot, path: Path, listing: bytes) -> tuple[str, ...]:
    """Restore filtered files. Returns warnings. `listing`: the names of all files in the index."""
    if _ATTRIBUTES not in listing:
        return ()
    git, source = Git(path, filters=True), Git(snapshot.repo)
    filters = {_filter(name) for name in git.ask(*_CONFIGURED).output.split(b"\0")[:-1]}
    if not filters or snapshot.staged_tree is None:
        return ()
    tracked = git.run("ls-files", "-z")
    fields = git.run("check-attr", "-z", "--stdin", "filter", stdin=tracked).split(b"\0")
    filtered_names = {
        name for name, value in zip(fields[::3], fields[2::3], strict=False) if value in filters
    }
    captured = git.run(*_CHANGED, snapshot.staged_tree, snapshot.tree).split(b"\0")
    filtered_names -= {*captured}
    if not filtered_names:
        return ()
    same = _staged(git) & _staged(source)
    differing = source.ask("diff-files", "-z", "--name-only", LEFT_OUT).output.split(b"\0")[:-1]
    dirty = {*differing} - filtered.unchanged(source, os.fsencode(snapshot.repo), differing)
    available = {line.partition(b"\t")[2] for line in same} - dirty
    missing: list[str] = []
    copied: set[bytes] = set()
    store = lfs.store_of(git, common_of(path) or path)
    for name in map(os.fsdecode, sorted(filtered_names)):
        if os.fsencode(name) not in available:
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
    """Replace an LFS pointer by its content, if the repository has it."""
    if target.is_symlink() or not target.is_file() or target.stat().st_size > _ALIKE:
        return False
    pointer = lfs.read_pointer(target.name, target.read_bytes())
    content = lfs.stored(store, pointer) if pointer else None
    return bool(pointer and content and lfs.check_out(content, pointer, target))


def _forget_sizes(git: Git, path: Path, names: set[bytes]) -> None:
    """Make git, and the next snapshot, recognize these files as unchanged.

    Git considers a file of another size changed, so it must forget the size and look again: at
    these files only, since a filter may see changes in the others, which are in stored form.
    """
    lines = [line for line in _staged(git) if line.partition(b"\t")[2] in names]
    entries = b"".join(line + b"\0" for line in lines)
    index = entry_of(path) / "index"
    git.run("update-index", "-z", "--index-info", stdin=entries)
    settle(index)
    git.ask("update-index", "-q", "--refresh")
    settle(index)


def _filter(setting: bytes) -> bytes:
    """Return the name of a filter: `filter.lfs.smudge` -> `lfs`."""
    return setting.split(b".", 1)[1].rpartition(b".")[0]


def _staged(git: Git) -> set[bytes]:
    return {*git.ask("ls-files", "-z", "-s").output.split(b"\0")[:-1]}


def _is_same(source: Path, target: Path) -> bool:
    if source.is_symlink() or not source.is_file() or not target.is_file():
        return True  # no output of a filter
    size = source.stat().st_size
    same_size = size == target.stat().st_size and size < _ALIKE
    return same_size and filecmp.cmp(source, target, shallow=False)
