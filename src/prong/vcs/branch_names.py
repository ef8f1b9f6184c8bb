"""Whether branches can be made: asked before anything else is."""

import os
from collections.abc import Iterable
from pathlib import Path

from prong.errors import Taken, UsageError
from prong.vcs.git import Git


def refuse_unfit(repo: Path, names: Iterable[str]) -> None:
    """Raise `UsageError` for a name that is none, `Taken` for one that another is in the way of."""
    git = Git(repo)
    listed = git.run("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")
    there = set(os.fsdecode(listed).splitlines())
    for name in names:
        if not _is_name(git, name):
            raise UsageError(f"{name!r} cannot be the name of a branch", branch=name)
        if name in there:
            raise Taken(f"the branch {name} exists already", hint="--branch NAME", branch=name)
        # Git keeps branches as files and folders: there is no `a/b` where there is an `a`.
        if any(f"{one}/".startswith(f"{name}/") or name.startswith(f"{one}/") for one in there):
            message = f"another branch is in the way of {name}"
            raise Taken(message, hint="--branch NAME", branch=name)


def _is_name(git: Git, name: str) -> bool:
    # Git takes these for names, and then reads them as something else.
    if name == "@" or name.startswith("refs/"):
        return False
    # What it prints is another name where it has read `@{-1}`.
    said = git.ask("check-ref-format", "--branch", name)
    return said.ok and said.output == os.fsencode(f"{name}\n")
