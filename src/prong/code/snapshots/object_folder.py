"""Moving finished objects from a folder of their own into a repository.

Git does the same when somebody pushes: what breaks off halfway never was in the repository.
"""

import errno
import os
import stat
from pathlib import Path

_FAN_OUT = 2
"""Loose objects are in folders that the first two digits of their ids name."""


def move_objects(source: Path, target: Path) -> None:
    """Move every loose object and every pack. A pack counts from when its `.idx` is there."""
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
    """With the permissions of its parent: a repository may be shared by a group."""
    try:
        path.mkdir()
    except FileExistsError:
        return
    mode = stat.S_IMODE(path.parent.stat().st_mode)
    if stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)


def _move(source: Path, target: Path) -> None:
    """What is there already has the same content: its name says so."""
    if target.exists():
        return
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    """To another file system: it appears whole, under a name that git cleans up."""
    temporary = target.with_name(f"tmp_obj_{os.urandom(8).hex()}")
    try:
        temporary.write_bytes(source.read_bytes())
        temporary.chmod(stat.S_IMODE(source.stat().st_mode))
        temporary.rename(target)
    finally:
        temporary.unlink(missing_ok=True)
