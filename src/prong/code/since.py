"""What has changed in a repository since a turn of which no code was kept."""

import os
from datetime import UTC, datetime
from pathlib import Path

from prong.code.git import Git
from prong.code.worktrees import worktree
from prong.code.worktrees.changes import changed_files
from prong.model.forks import CodeSince

_CHANGED = ("diff-tree", "-r", "-z", "--name-only", "--no-renames")


def since(repo: Path, branch: str | None, when: datetime) -> CodeSince | None:
    """None when nothing has.

    What differs from the commit of that time may be the work of the turn itself, or of one before
    it. So only what was written after it counts.
    """
    git = Git(repo)
    names = set(changed_files(git))
    before = worktree.nearest_commit(repo, branch, when)
    commits = 0
    if git.ask("rev-parse", "--verify", "--quiet", "HEAD").ok:
        begun = ("HEAD",) if before is None else (f"{before}..HEAD",)
        commits = int(git.run("rev-list", "--count", *begun, "--"))
        old = git.empty_tree() if before is None else before
        committed = git.run(*_CHANGED, old, "HEAD", "--").split(b"\0")[:-1]
        names |= set(map(os.fsdecode, committed))
    files = sum(_is_newer(repo / name, when.timestamp()) for name in names)
    if not (commits or files):
        return None
    return CodeSince(datetime.now(UTC) - when, commits, files)


def _is_newer(path: Path, when: float) -> bool:
    """Whether a file was written since, or brought there; or removed, as far as that shows."""
    for place in (path, *path.parents):
        try:
            found = place.lstat()
        except OSError:
            continue
        if place != path:
            return found.st_mtime > when
        return max(found.st_mtime, found.st_ctime) > when
    return True
