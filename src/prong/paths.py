"""Where prong keeps its own files. The only module that looks at XDG variables."""

import os
from pathlib import Path


def _xdg(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    # The XDG specification says to ignore a relative path.
    base = Path(value) if value.startswith("/") else Path.home() / fallback
    return base / "prong"


def config_file() -> Path:
    return _xdg("XDG_CONFIG_HOME", ".config") / "config.toml"


def cache_dir() -> Path:
    return _xdg("XDG_CACHE_HOME", ".cache")


def state_dir() -> Path:
    """Facts that must not be lost, and the journals of what is being written."""
    return _xdg("XDG_STATE_HOME", ".local/state")


def data_dir() -> Path:
    """What belongs to the user and is large: the worktrees that prong made."""
    return _xdg("XDG_DATA_HOME", ".local/share")


def worktrees_dir() -> Path:
    """The managed root: nothing outside of it is ever deleted as a worktree."""
    return data_dir() / "worktrees"


def private_dir(path: Path) -> Path:
    """Make the folder if it is missing, readable by its owner only."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path
