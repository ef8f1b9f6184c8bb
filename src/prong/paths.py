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


def private_file(path: Path) -> None:
    """Create an empty file, if missing, readable by its owner only.

    For sqlite, which would apply the umask. An existing file is not opened: closing any descriptor
    of a database drops the locks that the process holds on it. So a new one is created and closed
    under a temporary name first.
    """
    if path.exists():
        return
    new = path.with_name(f".{path.name}-{os.getpid()}-{os.urandom(4).hex()}")
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        os.link(new, path)
    except FileExistsError:
        pass  # another process was faster
    except OSError:
        if path.exists():
            return
        new.rename(path)  # not every file system supports links
    finally:
        new.unlink(missing_ok=True)
