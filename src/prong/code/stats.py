"""How much changed between trees: one git for as many pairs as are asked for."""

import re
from collections.abc import Sequence
from pathlib import Path

from prong.code.git import Git
from prong.errors import NotFound
from prong.model.code import DiffStat

_PAIR = re.compile(rb"[0-9a-f]{40,64} [0-9a-f]{40,64}\n")
_OPTIONS = ("--stdin", "-r", "-z", "-M", "--numstat", "--no-ext-diff", "--no-textconv")


def diffstats(repository: Path, pairs: Sequence[tuple[str | None, str]]) -> list[DiffStat]:
    """What changed from the first tree of each pair to the second; from nothing, for None."""
    if not pairs:
        return []
    git = Git(repository)
    nothing = git.empty_tree() if any(old is None for old, _ in pairs) else ""
    asked = "".join(f"{old or nothing} {new}\n" for old, new in pairs)
    found = _parsed(git.run("diff-tree", *_OPTIONS, stdin=asked.encode()))
    if len(found) != len(pairs):
        raise NotFound(f"{repository} does not have all of these trees")
    return found


def _parsed(output: bytes) -> list[DiffStat]:
    """Each pair is a line of its own; the files behind it end with a NUL, names may be anything."""
    found: list[DiffStat] = []
    fields = iter(output.split(b"\0"))
    for field in fields:
        rest = field
        while pair := _PAIR.match(rest):
            found.append(DiffStat(0, 0, 0))
            rest = rest[pair.end() :]
        if not rest:
            continue
        added, removed, name = rest.split(b"\t", 2)
        if not name:
            _names = next(fields), next(fields)  # renamed: the old one and the new one
        last = found[-1]
        found[-1] = DiffStat(
            last.files + 1, last.added + _number(added), last.removed + _number(removed)
        )
    return found


def _number(text: bytes) -> int:
    # A binary file has a dash.
    return int(text) if text.isdigit() else 0
