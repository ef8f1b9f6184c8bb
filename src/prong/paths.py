"""Locations of prong's own files. The only module that reads XDG variables."""

import os
from collections.abc import Mapping
from pathlib import Path


def _xdg(variable: str, fallback: str, environ: Mapping[str, str] = os.environ) -> Path:
    value = environ.get(variable, "")
    # The XDG specification says to ignore a relative path.
    home = Path(environ.get("HOME") or Path.home())
    base = Path(value) if value.startswith("/") else home / fallback
    return base / "prong"


def config_file() -> Path:
    return _xdg("XDG_CONFIG_HOME", ".config") / "config.toml"


def cache_dir() -> Path:
    return _xdg("XDG_CACHE_HOME", ".cache")


def state_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """Folder of state that must not be lost, and of journals of unfinished writes.

    With `environ`, that of a program with this environment.
    """
    return _xdg("XDG_STATE_HOME", ".local/state", environ)


def data_dir() -> Path:
    """Folder of large user data: the worktrees that prong created."""
    return _xdg("XDG_DATA_HOME", ".local/share")


def worktrees_dir() -> Path:
    """Default managed root. Nothing outside the managed root is deleted as a worktree."""
    return data_dir() / "worktrees"


def private_dir(path: Path) -> Path:
    """Create a folder, if missing, readable by its owner only."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path
