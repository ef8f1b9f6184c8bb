"""Where prong keeps its own files. The only module that looks at XDG variables."""

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
    """Facts that must not be lost, and the journals of what is being written.

    Those of another program, if its environment is given.
    """
    return _xdg("XDG_STATE_HOME", ".local/state", environ)


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


def private_file(path: Path) -> None:
    """Make an empty file if there is none, readable by its owner only.

    For sqlite, which makes its files as readable as the umask lets it. A file that is there is not
    opened: closing any descriptor of a database drops the locks that the process holds on it. So a
    new one is made under another name, and has its own only when it is closed.
    """
    if path.exists():
        return
    new = path.with_name(f".{path.name}-{os.getpid()}-{os.urandom(4).hex()}")
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        os.link(new, path)
    except FileExistsError:
        pass  # another one was faster
    except OSError:
        if path.exists():
            return
        new.rename(path)  # not every file system has links
    finally:
        new.unlink(missing_ok=True)
