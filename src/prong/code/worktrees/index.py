"""Restore what was staged into the index of a new worktree."""

import os
from pathlib import Path

from prong.code.git import Git
from prong.code.snapshots import message
from prong.code.worktrees.checkout import is_on, settle
from prong.code.worktrees.snapshot_tree import Commit
from prong.errors import Corrupt
from prong.model.code import Snapshot


def write_index(
    snapshot: Snapshot, path: Path, entry: Path, commit: Commit, listing: bytes
) -> tuple[str, ...]:
    """Restore the index, which has the files of the snapshot so far. Returns warnings.

    Entries that are the same in both keep what git recorded of the files, so none is read again.
    """
    git = Git(path)
    warnings: tuple[str, ...] = ()
    if snapshot.staged_tree is None:
        _write_conflict(git, commit)
        warnings = ("a merge was under way: the conflicts are here, but git has forgotten why",)
    elif snapshot.staged_tree != snapshot.tree:
        git.run("read-tree", "-i", "-m", snapshot.staged_tree)
    intended = message.intended(commit.message)
    if intended:
        names = b"".join(os.fsencode(name) + b"\0" for name in intended)
        options = ("--force", "--pathspec-from-file=-", "--pathspec-file-nul")
        git.run("add", "--intent-to-add", *options, stdin=names)
    _hide(listing, git)
    settle(entry / "index")
    return warnings


def _write_conflict(git: Git, commit: Commit) -> None:
    """Restore a conflict: the snapshot's last parent has its sides in folders 0, 1, 2 and 3."""
    if not commit.parents:
        raise Corrupt("the snapshot does not have what was staged")
    listing = git.run("ls-tree", "-r", "-z", commit.parents[-1]).split(b"\0")[:-1]
    sides: set[bytes] = set()
    for line in listing:
        entry, _, name = line.partition(b"\t")
        mode, _, blob = entry.split(b" ")
        stage, _, name = name.partition(b"/")
        sides.add(b" ".join((mode, blob, stage)) + b"\t" + name)
    current = set(git.run("ls-files", "-z", "-s").split(b"\0")[:-1])
    removal = b"0 " + b"0" * len(commit.tree) + b"\t"
    removals = [removal + line.partition(b"\t")[2] for line in sorted(current - sides)]
    lines = [*removals, *sorted(sides - current)]
    git.run("update-index", "-z", "--index-info", stdin=b"".join(line + b"\0" for line in lines))


def _hide(listing: bytes, git: Git) -> None:
    """Hide the files that git was told not to check in the source.

    A snapshot does not record them; but files are usually hidden for long.
    """
    lines = [line for line in listing.split(b"\0") if line and line[:1] != b"H"]
    if not lines:
        return
    tracked = set(git.run("ls-files", "-z").split(b"\0"))
    skipped = () if is_on(git.folder, "core.sparseCheckout") else (b"S", b"s")
    for option, tags in (("--skip-worktree", skipped), ("--assume-unchanged", (b"h", b"s"))):
        names = [line[2:] for line in lines if line[:1] in tags and line[2:] in tracked]
        if names:
            stdin = b"".join(name + b"\0" for name in names)
            git.run("update-index", "-z", option, "--stdin", stdin=stdin)
