"""Everything that lies in a home, so that two moments can be compared."""

import os
import re
from pathlib import Path

from prong.files.publication import STAGING

Tree = dict[str, bytes | str | None]
"""Path -> the bytes of a file, the target of a link, None for a folder."""

_OWN = (".cache", ".local/state/prong")
"""What prong keeps for itself."""
_TITLED = re.compile(rb'(\{"type":"custom-title",.*"timestamp":)"[^"]*"')
"""The title of a fork says when it was given; all else in a fork is always the same."""


def tree_of(home: Path) -> Tree:
    """Without what prong keeps for itself; but the journals of unfinished forks count."""
    found: Tree = {}
    for folder, names, files in os.walk(home):
        here = Path(folder).relative_to(home)
        names[:] = [name for name in names if str(here / name) not in _OWN]
        for name in (*names, *files):
            path = home / here / name
            if path.is_symlink():
                found[str(here / name)] = str(path.readlink())
            else:
                found[str(here / name)] = _content(path) if path.is_file() else None
    for journal in (home / _OWN[1] / "journal").glob("*"):
        found[str(journal.relative_to(home))] = journal.read_bytes()
    return found


def _content(path: Path) -> bytes:
    return _TITLED.sub(rb'\1""', path.read_bytes())


def visible(tree: Tree) -> Tree:
    """As an agent sees it: without hidden folders of ours, and without journals."""
    return {
        path: content
        for path, content in tree.items()
        if f"/{STAGING}" not in path and not path.startswith(_OWN)
    }
