"""Names for new worktrees and branches: from a title, a worker or a branch."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain, count
from pathlib import Path

from prong.code.branch_names import BranchNames, slug
from prong.code.worktrees import worktree
from prong.code.worktrees.journal import entries_of, under_way
from prong.code.worktrees.record import common_of, place_of
from prong.redaction.secrets import mask

_FORKED = re.compile(r" \(fork @[\w-]+\)( \d+)?$")
_NAMELESS = "fork"
"""Fallback for a title without usable letters."""


class WorkspaceNames:
    """Names of the worktrees and branches of a repository, taken or free."""

    def __init__(self, root: Path, repo: Path, used: Iterable[str]) -> None:
        """Name worktrees below `root`. `used` are the folders of sessions and workers.

        Reusing a name could show a session of a removed worktree another session's code.
        """
        self._parent = worktree.place(root, repo, "x").parent
        self._branches = BranchNames(repo)
        tops = {f"{self._parent}/", f"{os.path.realpath(self._parent)}/"}
        self._folders = {
            path[len(top) :].partition("/")[0].lower()
            for path in chain(_existing(root, repo, self._parent), used)
            for top in tops
            if path.startswith(top)
        }

    def is_free(self, path: Path, branch: str | None) -> bool:
        """Return True if the folder and, if given, the branch are free."""
        is_new = path.name.lower() not in self._folders
        return is_new and (branch is None or self._branches.is_free(branch))

    def free(self, name: str, branch: str | None = None, number: int = 1) -> tuple[Path, str]:
        """Choose a free folder and branch: `rate-limiting`, else `rate-limiting-2`.

        `number` is the first one to try. A given `branch` is kept as it is.
        """
        for each in count(number):
            folder_name = name if each == 1 else f"{name}-{each}"
            path = self._parent / folder_name
            own_branch = None if branch else self._branches.ours(folder_name)
            if self.is_free(path, own_branch):
                return path, branch or own_branch or folder_name
        raise AssertionError


def without_fork(title: str) -> str:
    """Strip the fork suffixes from a title."""
    return _FORKED.sub("", title)


def name_of(*texts: str | None) -> str:
    """Build a slug from the first text that has one, masking secrets."""
    slugs = (slug(mask(text)) for text in texts if text)
    return next((name for name in slugs if name), _NAMELESS)


def _existing(root: Path, repo: Path, parent: Path) -> Iterator[str]:
    """Yield the folders of worktrees that exist, or are being created."""
    if parent.is_dir():
        yield from (entry.path for entry in os.scandir(parent))
    yield from map(str, under_way(root))
    common = common_of(repo)
    for entry in entries_of(common) if common else ():
        yield str(place_of(entry) or "")
