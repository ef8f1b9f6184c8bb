"""Resolve the folder whose trust setting applies, for Claude Code and Codex.

A folder in a git repository counts as the repository, and a worktree as its main repository. So
a new worktree of a trusted repository is trusted too. Trust in a folder above it does not count.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from prong.files.regular import read_regular


def project(folder: Path) -> Path:
    """Return the folder under which trust is recorded."""
    return [_real(folder), *repositories(folder)][-1]


def repositories(folder: Path) -> list[Path]:
    """Return the repository or worktree around a folder, then a worktree's main repository."""
    top = _top(_real(folder))
    main = _main(top) if top else None
    return [repository for repository in (top, main) if repository]


def candidates(folder: Path) -> Iterator[Path]:
    """Yield the folders of which one must be trusted: from here up to the repository."""
    real = _real(folder)
    roots = repositories(folder)
    for parent in (real, *real.parents):
        yield parent
        if parent in roots:
            break
    yield from roots[1:]


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def _top(folder: Path) -> Path | None:
    """Return the root of the nearest repository or worktree."""
    return next((path for path in (folder, *folder.parents) if (path / ".git").exists()), None)


def _main(top: Path) -> Path | None:
    """Return the main repository of a worktree; None for other folders, or if it is bare."""
    try:
        pointer = os.fsdecode(read_regular(top / ".git"))
        entry = top / pointer.removeprefix("gitdir:").strip()
        common = entry / os.fsdecode(read_regular(entry / "commondir")).strip()
    except OSError:
        return None
    real = Path(os.path.realpath(common))
    return real.parent if real.name == ".git" else None
