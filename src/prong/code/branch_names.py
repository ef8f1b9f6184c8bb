"""The names of branches: whether one can be made, and one made of words that anybody wrote."""

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
"""Characters of a text that are looked at for a slug."""


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
        if any(_collide(one, name) for one in there):
            message = f"another branch is in the way of {name}"
            raise Taken(message, hint="--branch NAME", branch=name)


def _is_name(git: Git, name: str) -> bool:
    # Git takes these for names, and then reads them as something else.
    if name == "@" or name.startswith("refs/"):
        return False
    # What it prints is another name where it has read `@{-1}`.
    said = git.ask("check-ref-format", "--branch", name)
    return said.ok and said.output == os.fsencode(f"{name}\n")


def _collide(one: str, other: str) -> bool:
    """Whether two names cannot both be branches."""
    return f"{one}/".startswith(f"{other}/") or other.startswith(f"{one}/")


def slug(text: str) -> str:
    """The words of a text as a part of a branch's name and as the name of a folder.

    Small ASCII letters, digits and single dashes: git, shells and terminals take these for nothing
    else, whoever wrote the text. Empty when nothing of it is left.
    """
    letters = unicodedata.normalize("NFKD", text[:_READ])
    plain = "".join(char for char in letters if not unicodedata.combining(char))
    words = re.sub(r"[^a-z0-9]+", "-", re.sub("['\u2019]", "", plain).lower()).strip("-")
    if len(words) <= LONGEST:
        return words
    whole = words[: LONGEST + 1].rpartition("-")[0]
    # One long word is cut.
    return whole if len(whole) > LONGEST // 2 else words[:LONGEST].rstrip("-")


class BranchNames:
    """The branches of a repository, its own and those that it knows of its remotes."""

    def __init__(self, repo: Path) -> None:
        words = ("for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes")
        # A folder without git has none.
        names = os.fsdecode(Git(repo).ask(*words).output).lower().splitlines()
        self._own = [name[len("refs/heads/") :] for name in names if name.startswith("refs/heads/")]
        self._remote = [name for name in names if name.startswith("refs/remotes/")]

    def is_free(self, branch: str) -> bool:
        """Whether a branch can have the name, without being taken for one that others pushed.

        Some file systems do not tell capital letters from small ones.
        """
        name = branch.lower()
        return not any(_collide(one, name) for one in self._own) and not any(
            one.endswith(f"/{name}") for one in self._remote
        )

    def ours(self, name: str) -> str:
        """The branch of a worktree that nobody has named.

        There is no `prong/rate-limiting` where there is a branch `prong`.
        """
        return f"prong-{name}" if "prong" in self._own else f"prong/{name}"
