"""What a new worktree and its branch are called: after a title, a worker or a branch."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from prong.code.branch_names import BranchNames, slug
from prong.code.worktrees import worktree
from prong.code.worktrees.journal import entries_of, under_way
from prong.code.worktrees.record import common_of, place_of
from prong.redaction.secrets import mask

if TYPE_CHECKING:
    from prong.app import App

_FORKED = re.compile(r" \(fork @[\w-]+\)( \d+)?$")
_NAMELESS = "fork"
"""Where a title has no letter that a branch can have."""


class WorkspaceNames:
    """The names that the folders and branches of one repository's worktrees have, or had."""

    def __init__(self, app: App, repo: Path) -> None:
        self._parent = worktree.place(app.worktrees_root, repo, "x").parent
        self._branches = BranchNames(repo)
        tops = {f"{self._parent}/", f"{os.path.realpath(self._parent)}/"}
        self._folders = {
            path[len(top) :].partition("/")[0].lower()
            for path in _known_folders(app, repo, self._parent)
            for top in tops
            if path.startswith(top)
        }

    def is_free(self, path: Path, branch: str | None) -> bool:
        """Whether both can be made; without a branch, whether the folder can."""
        is_new = path.name.lower() not in self._folders
        return is_new and (branch is None or self._branches.is_free(branch))

    def free(self, name: str, branch: str | None = None, number: int = 1) -> tuple[Path, str]:
        """A folder and a branch that nothing has: `rate-limiting`, else `rate-limiting-2`.

        `number` is the first one to try. A `branch` that a person chose stays as it is.
        """
        for each in count(number):
            own = name if each == 1 else f"{name}-{each}"
            path = self._parent / own
            ours = None if branch else self._branches.ours(own)
            if self.is_free(path, ours):
                return path, branch or ours or own
        raise AssertionError


def without_fork(title: str) -> str:
    """The title of what a fork, and a fork of that, came from."""
    return _FORKED.sub("", title)


def name_of(*texts: str | None) -> str:
    """The slug of the first text that has one. Keys in it are not shown to anybody."""
    slugs = (slug(mask(text)) for text in texts if text)
    return next((one for one in slugs if one), _NAMELESS)


def _known_folders(app: App, repo: Path, parent: Path) -> Iterator[str]:
    """Whatever is, was or will be in the folder.

    A session that ran in a worktree that is gone must not find another one's code in its place.
    """
    if parent.is_dir():
        yield from (entry.path for entry in os.scandir(parent))
    yield from map(str, under_way(app.worktrees_root))
    common = common_of(repo)
    for entry in entries_of(common) if common else ():
        yield str(place_of(entry) or "")
    for session in app.sessions():
        yield from session.cwds
        yield session.cwd or ""
    for worker in app.workers.records.all():
        yield str(worker.workspace)
