"""Changes in a repository since a turn without captured code."""

import os
from datetime import UTC, datetime
from pathlib import Path

from prong.code.git import Git
from prong.code.worktrees import worktree
from prong.code.worktrees.changes import changed_files
from prong.model.forks import CodeSince

_CHANGED = ("diff-tree", "-r", "-z", "--name-only", "--no-renames")


def since(repo: Path, branch: str | None, when: datetime) -> CodeSince | None:
    """Count commits and files written after a turn; None if there are none.

    Differences from the commit of that time may be the work of the turn itself, or of an earlier
    one. So only files written after it count.
    """
    git = Git(repo)
    names = set(changed_files(git))
    before = worktree.nearest_commit(repo, branch, when)
    commits = 0
    if git.ask("rev-parse", "--verify", "--quiet", "HEAD").ok:
        limits = ("HEAD",) if before is None else (f"{before}..HEAD",)
        commits = int(git.run("rev-list", "--count", *limits, "--"))
        old = git.empty_tree() if before is None else before
        committed = git.run(*_CHANGED, old, "HEAD", "--").split(b"\0")[:-1]
        names |= set(map(os.fsdecode, committed))
    files = sum(_is_newer(repo / name, when.timestamp()) for name in names)
    if not (commits or files):
        return None
    return CodeSince(datetime.now(UTC) - when, commits, files)


def _is_newer(path: Path, when: float) -> bool:
    """Tell whether a file was written, moved there or, as far as visible, removed since."""
    for candidate in (path, *path.parents):
        try:
            status = candidate.lstat()
        except OSError:
            continue
        if candidate != path:
            return status.st_mtime > when
        return max(status.st_mtime, status.st_ctime) > when
    return True
