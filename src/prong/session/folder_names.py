"""Folder names: Unix paths, Windows paths and bare project names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from prong.model.sessions import Session

_DRIVE = (":\\", ":/")
"""What follows the letter of a Windows drive."""


def pure_path(text: str) -> PurePath:
    """Parse a path, which may come from Windows."""
    return PureWindowsPath(text) if is_windows(text) else PurePosixPath(text)


def is_windows(text: str) -> bool:
    has_drive = text[1:3] in _DRIVE and text[0].isascii() and text[0].isalpha()
    return has_drive or text.startswith("\\\\")


def project_folder(
    given: Path, sessions: Callable[[], Iterable[Session]], notes: list[str]
) -> Path:
    """Resolve a project: `shop` may also be the name of a folder that sessions ran in."""
    folder = Path(os.path.expanduser(given))  # noqa: PTH111 -- Path's fails on `~nobody`
    is_name = len(folder.parts) == 1 and not folder.is_absolute() and not is_windows(str(folder))
    if not is_name or os.path.isdir(folder):
        return folder
    candidates = list(dict.fromkeys(_folders(sessions(), folder.name)))
    # Prefer an exact match to one that differs in case.
    candidates = [path for path in candidates if pure_path(path).name == folder.name] or candidates
    if not candidates:
        return folder
    if len(candidates) > 1:
        others = ", ".join(candidates[1:])
        notes.append(f"the project {folder} is {candidates[0]}; of the same name: {others}")
    return Path(candidates[0])


def _folders(sessions: Iterable[Session], name: str) -> Iterator[str]:
    """Yield the folders of this name that sessions ran in, newest first."""
    for session in sessions:
        for cwd in session.cwds:
            path = pure_path(cwd)
            for folder in (*reversed(path.parents), path):
                if folder.name.casefold() == name.casefold():
                    yield str(folder)
                    break
