"""Branches and snapshots created for a worktree, and when they may be deleted with it."""

import os
from pathlib import Path

from prong.code.git import Git
from prong.code.snapshots import refs
from prong.model.code import TurnKey

_OURS = "prong"
"""Replaces the agent in the name of a snapshot that belongs to no turn."""
_BRANCH = "--format=%(objectname)%00%(upstream)%00%(worktreepath)"


def drop_unused_branch(common: Path, branch: str, base: str | None) -> str | None:
    """Delete the branch of a removed worktree if it is unused; return its name if it stays.

    A branch is used if it has commits that are on no other branch, remote branch or tag, if it is
    checked out elsewhere, or if it tracks another branch.
    """
    git = Git(common)
    name = f"refs/heads/{branch}"
    output = git.run("for-each-ref", _BRANCH, name).removesuffix(b"\n")
    if not output:
        return None
    tip, upstream, checked_out = os.fsdecode(output).split("\0")
    if upstream or checked_out or own_commits(git, [name], {branch}, base):
        return branch
    return None if git.delete_ref(name, tip) else branch


def own_commits(git: Git, tips: list[str], branches: set[str], base: str | None) -> int:
    """Count commits since `base` that lead to these tips and are only on these branches."""
    own = [f"--exclude={branch}" for branch in sorted(branches)]
    excluded = () if base is None else (base,)
    others = (*own, "--branches", "--remotes", "--tags", *excluded)
    # `--ignore-missing`: refs may not exist, before the first commit or by now.
    return int(git.run("rev-list", "--count", "--ignore-missing", *tips, "--not", *others))


def has_loose_commits(git: Git) -> bool:
    """Tell whether a detached head has commits that no ref leads to."""
    if git.ask("symbolic-ref", "--quiet", "HEAD").ok:
        return False
    return not git.run("for-each-ref", "--count=1", "--contains=HEAD", "--format=%(refname)")


def drop_new_branch(common: Path, branch: str, head: str, mark: str) -> bool:
    """Delete a branch that did not move since prong created it and left `mark` in its log."""
    git = Git(common)
    log = git.ask("reflog", "show", "--format=%gs", f"refs/heads/{branch}", "--").output
    if log.decode(errors="replace").strip() != mark:
        return False
    return git.delete_ref(f"refs/heads/{branch}", head)


def snapshot_for(worktree: str) -> TurnKey:
    """Return the key of a snapshot taken for a worktree alone, not for a turn."""
    return TurnKey(_OURS, worktree, "now")


def is_for_a_worktree(ref: str) -> bool:
    """Tell whether a snapshot was taken for a worktree alone."""
    return ref.startswith(f"{refs.REFS}{_OURS}/")


def has_snapshot(git: Git, commit: str) -> bool:
    """Tell whether a snapshot still exists, or a later one leads to it."""
    command = ("for-each-ref", "--count=1", "--format=%(refname)")
    conditions = (f"--points-at={commit}", f"--contains={commit}")  # the second one is slower
    return any(git.ask(*command, condition, refs.REFS).output for condition in conditions)


def is_kept_elsewhere(common: Path, ref: str) -> bool:
    """Tell whether a snapshot of a turn, or the head, contains all of a snapshot."""
    git = Git(common)
    snapshots = refs.find(common, refs.REFS)
    own = next((snapshot for snapshot in snapshots if snapshot.ref == ref), None)
    if own is None or own.nested:
        return False
    turns = [snapshot for snapshot in snapshots if not is_for_a_worktree(snapshot.ref)]
    kept = {(snapshot.tree, snapshot.staged_tree) for snapshot in turns}
    if own.head is not None:
        tree = git.run("rev-parse", f"{own.head}^{{tree}}").decode().strip()
        kept.add((tree, tree))
    return (own.tree, own.staged_tree) in kept


def drop_snapshot(repo: Path, ref: str) -> None:
    """Delete a snapshot, with those of nested repositories that were taken with it."""
    git = Git(repo)
    # Refs of nested repositories have the ref of the outer one as prefix.
    listed = git.ask("for-each-ref", "--format=%(refname) %(objectname)", ref.rpartition("/")[0])
    for line in os.fsdecode(listed.output).splitlines():
        name, commit = line.split(" ")
        if name != ref and not name.startswith(f"{ref}."):
            continue
        snapshot = refs.at(repo, commit, name)[1]
        for inner in snapshot.nested if snapshot else ():
            if (repo / inner.path / ".git").exists():
                drop_snapshot(repo / inner.path, ref)
        git.delete_ref(name, commit)
