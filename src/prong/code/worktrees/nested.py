"""Unsaved work in repositories below ignored folders of a worktree, which git does not see.

Work is saved if a remote has it, or the source, from which some of the repositories were copied.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from prong.code.git import Git
from prong.code.submodules import inner_git
from prong.code.worktrees.changes import changed_files, signature
from prong.code.worktrees.record import Worktree, entry_of
from prong.code.worktrees.refs import has_loose_commits
from prong.errors import External, NotFound

_IGNORED = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")


def repositories_with_work(worktree: Worktree) -> list[str]:
    """List repositories with commits or changes that exist nowhere else."""
    ignored = os.fsdecode(Git(worktree.path).run(*_IGNORED)).split("\0")
    folders = [worktree.path / name for name in ignored if name.endswith("/")]
    names = [path.relative_to(worktree.path) for top in folders for path in _repositories(top)]
    return [str(name) for name in names if _has_work(worktree.path / name, worktree.repo / name)]


def _repositories(folder: Path) -> Iterator[Path]:
    """Yield repositories in a folder and below; not inside each other, nor behind links."""
    folders = [os.fspath(folder)]
    while folders:
        path = folders.pop()
        try:
            with os.scandir(path) as entries:
                inner = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue  # deleted meanwhile, or not readable
        if _is_repository(Path(path)):
            yield Path(path)
        else:
            folders += [entry.path for entry in inner]


def _is_repository(path: Path) -> bool:
    """Check a `.git`: packages contain all kinds of files of that name."""
    if os.path.isdir(path / ".git"):  # noqa: PTH112 (a Path would not bear what it may not read)
        return os.path.lexists(path / ".git" / "HEAD")
    try:
        return os.path.isdir(entry_of(path))  # noqa: PTH112
    except NotFound:
        return False


def _has_work(path: Path, source: Path) -> bool:
    git = inner_git(path)
    try:
        changed = changed_files(git)
        if any(signature(path / name) != signature(source / name) for name in changed):
            return True
        return _has_commits(git, path, source)
    except External:
        return True  # git cannot read it, so assume that there is work


def _has_commits(git: Git, path: Path, source: Path) -> bool:
    if not (path / ".git").is_dir():
        return has_loose_commits(git)  # a worktree, whose branches are elsewhere
    # A tag may come from the remote as well.
    excluded = ("--remotes", "--tags") if git.run("remote") else ()
    tips = _tips(source) if _is_repository(source) else []
    stdin = b"".join(b"^" + tip + b"\n" for tip in tips)
    command = ("rev-list", "--count", "--ignore-missing", "--stdin", "HEAD", "--branches")
    return int(git.run(*command, "refs/stash", "--not", *excluded, stdin=stdin)) > 0


def _tips(path: Path) -> list[bytes]:
    git = inner_git(path)
    branches = git.ask("for-each-ref", "--format=%(objectname)").output.split()
    return [*branches, *git.ask("rev-parse", "--verify", "--quiet", "HEAD").output.split()]
