"""Repositories inside other repositories: whose snapshot has the code of a folder."""

import os
from contextlib import suppress
from pathlib import Path

from prong.errors import ProngError
from prong.vcs.repository import Repository


def comes_along(folder: Path, other: Path) -> bool:
    """True when a folder's repository lies in that of another folder, and is captured with it.

    A further worktree of the same repository is not, nor one that git ignores there.
    """
    inner, outer = _top(folder), _top(other)
    # Nearly always it is the same one, which is seen without git.
    if inner is None or outer is None or outer not in inner.parents:
        return False
    with suppress(ProngError):
        there, around = Repository.find(inner), Repository.find(outer)
        if there is None or around is None or there.common_dir == around.common_dir:
            return False
        from prong.vcs.ignored import ignored_among  # slow to load

        name = os.path.relpath(there.top, around.top)
        return not ignored_among(around.top, [name])
    return False


def _top(folder: Path) -> Path | None:
    real = Path(os.path.realpath(folder))
    return next((one for one in (real, *real.parents) if (one / ".git").exists()), None)
