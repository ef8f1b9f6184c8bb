"""Worktrees made and removed on their own, in the managed root unless another one is named."""

from pathlib import Path

from prong import paths
from prong.code.ignored import IgnoredFiles
from prong.code.worktrees import make, worktree
from prong.code.worktrees.journal import Undo
from prong.code.worktrees.record import Worktree
from prong.model.code import Snapshot


def create(
    snapshot: Snapshot,
    path: Path,
    branch: str,
    *,
    root: Path | None = None,
    ignored: IgnoredFiles | None = None,
) -> Worktree:
    with Undo(root or paths.worktrees_dir()) as undo:
        made = make.create(undo, snapshot, path, branch, ignored)
        undo.keep()
    return made


def create_at(
    repo: Path, commitish: str, path: Path, branch: str, *, root: Path | None = None
) -> Worktree:
    with Undo(root or paths.worktrees_dir()) as undo:
        made = make.create_at(undo, repo, commitish, path, branch)
        undo.keep()
    return made


def remove(made: Worktree, *, root: Path | None = None, force: bool = False) -> str | None:
    return worktree.remove(root or paths.worktrees_dir(), made, force=force)


def forget_missing(gone: Worktree) -> str | None:
    return worktree.forget_missing(paths.worktrees_dir(), gone)
