"""The branches and snapshots that a worktree brings along, and when they may go with it."""

import os
from pathlib import Path

from prong.code.git import Git
from prong.code.snapshots import message, refs
from prong.code.worktrees.snapshot_tree import Commit
from prong.model.code import TurnKey

_OURS = "prong"
"""Stands where the agent does in the name of a snapshot that is of no turn."""
_BRANCH = "--format=%(objectname)%00%(upstream)%00%(worktreepath)"


def drop_unused_branch(common: Path, branch: str, base: str | None) -> str | None:
    """Delete the branch of a removed worktree; its name comes back when it stays.

    It goes when nothing is on it that is not on another branch, a remote one, or under a tag. It
    stays as well when it is checked out somewhere else, or follows another one: somebody uses it.
    """
    git = Git(common)
    name = f"refs/heads/{branch}"
    found = git.run("for-each-ref", _BRANCH, name).removesuffix(b"\n")
    if not found:
        return None
    tip, upstream, checked_out = os.fsdecode(found).split("\0")
    if upstream or checked_out or own_commits(git, [name], {branch}, base):
        return branch
    deletion = os.fsencode(f"delete {name}\0{tip}\0")
    return None if git.ask("update-ref", "-z", "--stdin", stdin=deletion).ok else branch


def own_commits(git: Git, tips: list[str], branches: set[str], base: str | None) -> int:
    """How many commits lead to these tips, and are on no other branches than these.

    Those that were there before do not count: `base` is where the branches began.
    """
    own = [f"--exclude={branch}" for branch in sorted(branches)]
    begun = () if base is None else (base,)
    others = (*own, "--branches", "--remotes", "--tags", *begun)
    # What is not there, before the first commit or by now, counts as nothing.
    return int(git.run("rev-list", "--count", "--ignore-missing", *tips, "--not", *others))


def has_loose_commits(git: Git) -> bool:
    """Commits made on no branch: nothing else leads to them."""
    if git.ask("symbolic-ref", "--quiet", "HEAD").ok:
        return False
    return not git.run("for-each-ref", "--count=1", "--contains=HEAD", "--format=%(refname)")


def drop_new_branch(common: Path, branch: str, head: str, mark: str) -> bool:
    """Delete a branch that is where it was made, by whoever left that mark in its log."""
    git = Git(common)
    log = git.ask("reflog", "show", "--format=%gs", f"refs/heads/{branch}", "--").output
    if log.decode(errors="replace").strip() != mark:
        return False
    deletion = f"delete refs/heads/{branch}\0{head}\0"
    return git.ask("update-ref", "-z", "--stdin", stdin=os.fsencode(deletion)).ok


def snapshot_for(worktree: str) -> TurnKey:
    """The name of a snapshot that is taken for a worktree alone, and is that of no turn."""
    return TurnKey(_OURS, worktree, "now")


def is_for_a_worktree(ref: str) -> bool:
    """Whether a snapshot was taken for a worktree alone."""
    return ref.startswith(f"{message.REFS}{_OURS}/")


def has_snapshot(git: Git, commit: str) -> bool:
    """Whether a snapshot is kept: people may delete them. A later one may lead to it as well."""
    words = ("for-each-ref", "--count=1", "--format=%(refname)")
    ways = (f"--points-at={commit}", f"--contains={commit}")  # the second one takes longer
    return any(git.ask(*words, way, message.REFS).output for way in ways)


def is_kept_elsewhere(common: Path, ref: str) -> bool:
    """Whether a turn's snapshot, or the commit beneath, has all that a snapshot has."""
    git = Git(common)
    found = refs.read(git, refs.ask(git, message.REFS).answer(), message.REFS, common)
    own = next((one for one in found if one.ref == ref), None)
    if own is None or own.nested:
        return False
    turns = [one for one in found if not is_for_a_worktree(one.ref)]
    kept = {(one.tree, one.staged_tree) for one in turns}
    if own.head is not None:
        tree = git.run("rev-parse", f"{own.head}^{{tree}}").decode().strip()
        kept.add((tree, tree))
    return (own.tree, own.staged_tree) in kept


def drop_snapshot(repo: Path, ref: str) -> None:
    """Forget a snapshot, with those of the repositories inside that were taken with it."""
    git = Git(repo)
    # Inside, a name that tells which repository it is stands behind that of the outer one.
    listed = git.ask("for-each-ref", "--format=%(refname) %(objectname)", ref.rpartition("/")[0])
    for line in os.fsdecode(listed.output).splitlines():
        name, commit = line.split(" ")
        if name != ref and not name.startswith(f"{ref}."):
            continue
        content = Commit.read(repo, commit)
        snapshot = message.read(repo, name, commit, content.tree, content.message)
        for inner in snapshot.nested if snapshot else ():
            if (repo / inner.path / ".git").exists():
                drop_snapshot(repo / inner.path, ref)
        git.ask("update-ref", "-z", "--stdin", stdin=os.fsencode(f"delete {name}\0{commit}\0"))
