"""Which folders an agent takes for one when it asks whether it may work there.

Claude Code and Codex do it alike: what lies in a git repository counts as the repository, and a
worktree counts as the one that it belongs to. So a new worktree of a repository that a person
trusts is trusted, too. A folder above a repository says nothing about it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from prong.files.regular import read_regular


def project(folder: Path) -> Path:
    """The folder under which trust is recorded."""
    return [_real(folder), *repositories(folder)][-1]


def repositories(folder: Path) -> list[Path]:
    """The repository or worktree that a folder lies in, then the one that a worktree belongs to."""
    top = _top(_real(folder))
    main = _main(top) if top else None
    return [one for one in (top, main) if one]


def candidates(folder: Path) -> Iterator[Path]:
    """The folders of which one must be trusted: from here up to the repository's top."""
    real = _real(folder)
    found = repositories(folder)
    for one in (real, *real.parents):
        yield one
        if one in found:
            break
    yield from found[1:]


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))


def _top(folder: Path) -> Path | None:
    """The nearest folder with a repository."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


def _main(top: Path) -> Path | None:
    """The repository that a worktree belongs to; None when it is none, or belongs to a bare one."""
    try:
        said = os.fsdecode(read_regular(top / ".git"))
        entry = top / said.removeprefix("gitdir:").strip()
        common = entry / os.fsdecode(read_regular(entry / "commondir")).strip()
    except OSError:
        return None
    real = Path(os.path.realpath(common))
    return real.parent if real.name == ".git" else None
