"""Folders as they are named: by a path of this system or of Windows, or by their last part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prong.app import App

_DRIVE = (":\\", ":/")
"""What stands behind the letter of a drive."""


def pure_path(text: str) -> PurePath:
    """A path to take apart; sessions may come from a Windows, which has other ones."""
    return PureWindowsPath(text) if is_windows(text) else PurePosixPath(text)


def is_windows(text: str) -> bool:
    has_drive = text[1:3] in _DRIVE and text[0].isascii() and text[0].isalpha()
    return has_drive or text.startswith("\\\\")


def project_folder(app: App, given: Path, notes: list[str]) -> Path:
    """The folder that is meant: `shop` is also the one of that name that sessions were in."""
    folder = Path(os.path.expanduser(given))  # noqa: PTH111 -- Path's fails on `~nobody`
    is_name = len(folder.parts) == 1 and not folder.is_absolute() and not is_windows(str(folder))
    if not is_name or os.path.isdir(folder):  # noqa: PTH112
        return folder
    named = list(dict.fromkeys(_folders(app, folder.name)))
    # As it is written, if there is such a one; else in capitals or not.
    named = [one for one in named if pure_path(one).name == folder.name] or named
    if not named:
        return folder
    if len(named) > 1:
        others = ", ".join(named[1:])
        notes.append(f"the project {folder} is {named[0]}; of the same name: {others}")
    return Path(named[0])


def _folders(app: App, name: str) -> Iterator[str]:
    """The folders of this name that sessions were in, or below; the newest first."""
    for session in app.sessions():
        for cwd in session.cwds:
            path = pure_path(cwd)
            for folder in (*reversed(path.parents), path):
                if folder.name.casefold() == name.casefold():
                    yield str(folder)
                    break
