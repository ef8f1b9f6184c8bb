"""Changes of a worktree that are also in the newest snapshot of its session, thus not lost."""

import hashlib
import os
from collections.abc import Collection
from pathlib import Path

from prong.code.files import FileContent, read
from prong.code.git import Git
from prong.code.snapshots import message, refs
from prong.files.size_limit import snapshot_limit
from prong.model.code import Snapshot, TurnKey

_SHA1_DIGITS = 40
_STAGED = ("diff-index", "--cached", "-z", "--name-only", "--no-renames")


def in_snapshot(path: Path, session: str | None, names: Collection[str]) -> set[str]:
    """Return the changed files that are in the snapshot in the same state, staged or not."""
    git = Git(path)
    snapshot = _newest(git, session) if names else None
    if snapshot is None or snapshot.staged_tree is None:
        return set()
    kept = _kept_files(git, snapshot.tree, names)
    return kept - staged_since(git, snapshot.staged_tree) if kept else kept


def staged_since(git: Git, tree: str) -> set[str]:
    """Return the files that are staged differently from this tree."""
    staged = git.run(*_STAGED, "--ita-invisible-in-index", tree)
    return {os.fsdecode(name) for name in staged.split(b"\0")[:-1]}


def _newest(git: Git, session: str | None) -> Snapshot | None:
    agent, _, id_ = (session or "").partition(":")
    if not id_:
        return None
    prefix = message.session_refs(TurnKey(agent, id_, TurnKey.BASELINE))
    snapshots = refs.read(git, refs.ask(git, prefix).answer(), prefix, git.folder)
    return snapshots[-1] if snapshots else None


def _kept_files(git: Git, tree: str, names: Collection[str]) -> set[str]:
    blobs: dict[bytes, bytes] = {}
    for line in git.run("ls-tree", "-r", "-z", tree).split(b"\0")[:-1]:
        entry, _, name = line.partition(b"\t")
        mode, _, blob = entry.split(b" ")
        blobs[name] = mode + b" " + blob
    limit = snapshot_limit()
    kept: set[str] = set()
    for name in names:
        full = os.fsencode(git.folder / name)
        if os.path.lexists(full + b"/.git"):
            continue  # a repository, which its files do not fully describe
        content = read(full, limit)
        if isinstance(content, FileContent):
            same = content.steady and blobs.get(os.fsencode(name)) == _entry(content, len(tree))
        else:
            # Deleted in both. The files of a folder in its place are changes of their own.
            same = content is None and os.fsencode(name) not in blobs
        if same:
            kept.add(name)
    return kept


def _entry(found: FileContent, digits: int) -> bytes:
    """Return mode and blob id, as git would store the file without filters."""
    digest = hashlib.sha1(usedforsecurity=False) if digits == _SHA1_DIGITS else hashlib.sha256()
    digest.update(b"blob %d\0" % len(found.data))
    digest.update(found.data)
    return found.mode + b" " + digest.hexdigest().encode()
