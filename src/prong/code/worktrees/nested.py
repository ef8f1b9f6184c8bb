"""Repositories in the ignored folders of a worktree: git does not see them, nor what is new there.

What a remote has of them is not lost with the worktree. Nor is what the source has: some were
brought along from there.
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
    """Those with commits or changes that are nowhere else."""
    ignored = os.fsdecode(Git(worktree.path).run(*_IGNORED)).split("\0")
    folders = [worktree.path / name for name in ignored if name.endswith("/")]
    found = [path.relative_to(worktree.path) for top in folders for path in _repositories(top)]
    return [str(name) for name in found if _has_work(worktree.path / name, worktree.repo / name)]


def _repositories(folder: Path) -> Iterator[Path]:
    """In a folder and below; not inside of each other, and not behind links."""
    folders = [os.fspath(folder)]
    while folders:
        above = folders.pop()
        try:
            with os.scandir(above) as entries:
                inner = [one for one in entries if one.is_dir(follow_symlinks=False)]
        except OSError:
            continue  # gone meanwhile, or not ours to read
        if _is_repository(Path(above)):
            yield Path(above)
        else:
            folders += [one.path for one in inner]


def _is_repository(path: Path) -> bool:
    """Packages come with all kinds of things that are called `.git`."""
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
        return True  # git cannot look at it, so nobody knows


def _has_commits(git: Git, path: Path, source: Path) -> bool:
    if not (path / ".git").is_dir():
        return has_loose_commits(git)  # a worktree: the commits of branches are elsewhere
    # A tag may be of the remote as well.
    kept = ("--remotes", "--tags") if git.run("remote") else ()
    there = _tips(source) if _is_repository(source) else []
    stdin = b"".join(b"^" + tip + b"\n" for tip in there)
    words = ("rev-list", "--count", "--ignore-missing", "--stdin", "HEAD", "--branches")
    return int(git.run(*words, "refs/stash", "--not", *kept, stdin=stdin)) > 0


def _tips(path: Path) -> list[bytes]:
    git = inner_git(path)
    branches = git.ask("for-each-ref", "--format=%(objectname)").output.split()
    return [*branches, *git.ask("rev-parse", "--verify", "--quiet", "HEAD").output.split()]
