"""Line statistics of changes between trees, for any number of pairs with one git process."""

import re
from collections.abc import Sequence
from pathlib import Path

from prong.code.git import Git
from prong.errors import NotFound
from prong.model.code import DiffStat

_PAIR = re.compile(rb"[0-9a-f]{40,64} [0-9a-f]{40,64}\n")
_OPTIONS = ("--stdin", "-r", "-z", "-M", "--numstat", "--no-ext-diff", "--no-textconv")


def diffstats(repository: Path, pairs: Sequence[tuple[str | None, str]]) -> list[DiffStat]:
    """Count what changed from the first tree of each pair (None: empty) to the second."""
    if not pairs:
        return []
    git = Git(repository)
    nothing = git.empty_tree() if any(old is None for old, _ in pairs) else ""
    stdin = "".join(f"{old or nothing} {new}\n" for old, new in pairs)
    stats = _parsed(git.run("diff-tree", *_OPTIONS, stdin=stdin.encode()))
    if len(stats) != len(pairs):
        raise NotFound(f"{repository} does not have all of these trees")
    return stats


def _parsed(output: bytes) -> list[DiffStat]:
    """Parse a header line per pair, followed by NUL-terminated entries with arbitrary names."""
    stats: list[DiffStat] = []
    fields = iter(output.split(b"\0"))
    for field in fields:
        rest = field
        while pair := _PAIR.match(rest):
            stats.append(DiffStat(0, 0, 0))
            rest = rest[pair.end() :]
        if not rest:
            continue
        added, removed, name = rest.split(b"\t", 2)
        if not name:
            _names = next(fields), next(fields)  # a rename has the old and the new name
        last = stats[-1]
        stats[-1] = DiffStat(
            last.files + 1, last.added + _number(added), last.removed + _number(removed)
        )
    return stats


def _number(text: bytes) -> int:
    # A dash stands for a binary file.
    return int(text) if text.isdigit() else 0
