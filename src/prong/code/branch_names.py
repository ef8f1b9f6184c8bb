"""Branch names: validation, and slugs made from arbitrary text."""

import os
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from prong.code.git import Git
from prong.errors import Taken, UsageError

LONGEST = 40
"""Characters of a slug, without the number that makes it unique."""
_READ = 400
"""Characters of a text that a slug is made from."""


def refuse_unfit(repo: Path, names: Iterable[str]) -> None:
    """Raise `UsageError` for an invalid name, `Taken` for a name that is taken or blocked."""
    git = Git(repo)
    listed = git.run("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")
    branches = set(os.fsdecode(listed).splitlines())
    for name in names:
        if not _is_name(git, name):
            raise UsageError(f"{name!r} cannot be the name of a branch", branch=name)
        if name in branches:
            raise Taken(f"the branch {name} exists already", hint="--branch NAME", branch=name)
        # Git stores branches as files and folders: `a/b` cannot exist beside `a`.
        if any(_collide(branch, name) for branch in branches):
            message = f"another branch is in the way of {name}"
            raise Taken(message, hint="--branch NAME", branch=name)


def _is_name(git: Git, name: str) -> bool:
    # Git accepts these names, and then reads them as something else.
    if name == "@" or name.startswith("refs/"):
        return False
    # For `@{-1}` it prints the name of another branch.
    answer = git.ask("check-ref-format", "--branch", name)
    return answer.ok and answer.output == os.fsencode(f"{name}\n")


def _collide(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or other.startswith(f"{one}/")


def slug(text: str) -> str:
    """Turn a text into a part of a name that no git, shell or terminal can misread; maybe empty."""
    letters = unicodedata.normalize("NFKD", text[:_READ])
    plain = "".join(char for char in letters if not unicodedata.combining(char))
    result = re.sub(r"[^a-z0-9]+", "-", re.sub("['\u2019]", "", plain).lower()).strip("-")
    if len(result) <= LONGEST:
        return result
    shortened = result[: LONGEST + 1].rpartition("-")[0]
    # A single long word is cut.
    return shortened if len(shortened) > LONGEST // 2 else result[:LONGEST].rstrip("-")


class BranchNames:
    """The local and remote-tracking branches of a repository."""

    def __init__(self, repo: Path) -> None:
        command = ("for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes")
        # A folder without git has no branches.
        names = os.fsdecode(Git(repo).ask(*command).output).lower().splitlines()
        self._own = [name[len("refs/heads/") :] for name in names if name.startswith("refs/heads/")]
        self._remote = [name for name in names if name.startswith("refs/remotes/")]

    def is_free(self, branch: str) -> bool:
        """Tell whether no branch has this name, here or at a remote, in any case of letters."""
        name = branch.lower()
        return not any(_collide(other, name) for other in self._own) and not any(
            other.endswith(f"/{name}") for other in self._remote
        )

    def ours(self, name: str) -> str:
        """Return the default branch: `prong/x`, or `prong-x` if a branch `prong` exists."""
        return f"prong-{name}" if "prong" in self._own else f"prong/{name}"
