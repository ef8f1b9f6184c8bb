"""Which changes of a worktree the newest snapshot of its session has, too: these are not lost."""

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
    """Those of the changed files that are in the snapshot as they are here, staged or not."""
    git = Git(path)
    snapshot = _newest(git, session) if names else None
    if snapshot is None or snapshot.staged_tree is None:
        return set()
    kept = _kept_files(git, snapshot.tree, names)
    return kept - staged_since(git, snapshot.staged_tree) if kept else kept


def staged_since(git: Git, tree: str) -> set[str]:
    """The files that are staged otherwise than in this tree."""
    staged = git.run(*_STAGED, "--ita-invisible-in-index", tree)
    return {os.fsdecode(name) for name in staged.split(b"\0")[:-1]}


def _newest(git: Git, session: str | None) -> Snapshot | None:
    agent, _, id_ = (session or "").partition(":")
    if not id_:
        return None
    prefix = message.session_refs(TurnKey(agent, id_, TurnKey.BASELINE))
    found = refs.read(git, refs.ask(git, prefix).answer(), prefix, git.folder)
    return found[-1] if found else None


def _kept_files(git: Git, tree: str, names: Collection[str]) -> set[str]:
    there: dict[bytes, bytes] = {}
    for line in git.run("ls-tree", "-r", "-z", tree).split(b"\0")[:-1]:
        about, _, name = line.partition(b"\t")
        mode, _, blob = about.split(b" ")
        there[name] = mode + b" " + blob
    limit = snapshot_limit()
    kept: set[str] = set()
    for name in names:
        full = os.fsencode(git.folder / name)
        if os.path.lexists(full + b"/.git"):
            continue  # a repository: what it has is not told by its files
        found = read(full, limit)
        if isinstance(found, FileContent):
            same = found.steady and there.get(os.fsencode(name)) == _entry(found, len(tree))
        else:
            # Gone here and there. The files of a folder in its place are changes of their own.
            same = found is None and os.fsencode(name) not in there
        if same:
            kept.add(name)
    return kept


def _entry(found: FileContent, digits: int) -> bytes:
    """Mode and name of a blob, as git would store it without filters."""
    digest = hashlib.sha1(usedforsecurity=False) if digits == _SHA1_DIGITS else hashlib.sha256()
    digest.update(b"blob %d\0" % len(found.data))
    digest.update(found.data)
    return found.mode + b" " + digest.hexdigest().encode()
