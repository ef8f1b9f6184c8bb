"""Move finished objects from a temporary folder into a repository.

Git does the same on a push: an interrupted transfer never reaches the repository.
"""

import errno
import os
import stat
from pathlib import Path

_FAN_OUT = 2
"""Loose objects are in folders named by the first two digits of their ids."""


def move_objects(source: Path, target: Path) -> None:
    """Move all loose objects and packs. `.idx` files come last, since they make a pack visible."""
    for folder in source.iterdir():
        if len(folder.name) == _FAN_OUT:
            _make_folder(target / folder.name)
            for path in folder.iterdir():
                _move(path, target / folder.name / path.name)
    packs = target / "pack"
    _make_folder(packs)
    for path in sorted((source / "pack").iterdir(), key=lambda path: path.suffix == ".idx"):
        _move(path, packs / path.name)


def _make_folder(path: Path) -> None:
    """Create a folder with the permissions of its parent: a group may share the repository."""
    try:
        path.mkdir()
    except FileExistsError:
        return
    mode = stat.S_IMODE(path.parent.stat().st_mode)
    if stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)


def _move(source: Path, target: Path) -> None:
    """Move a file, unless it exists: names are hashes, so equal names mean equal content."""
    if target.exists():
        return
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    """Copy to another file system, atomically, via a temporary name that git cleans up."""
    temporary = target.with_name(f"tmp_obj_{os.urandom(8).hex()}")
    try:
        temporary.write_bytes(source.read_bytes())
        temporary.chmod(stat.S_IMODE(source.stat().st_mode))
        temporary.rename(target)
    finally:
        temporary.unlink(missing_ok=True)
