"""Hand a program's arguments, folder and environment to a pane in any terminal.

Command lines are no safe way. Each terminal limits and interprets its input: tmux takes 16 KB,
runs `#(...)` in a folder's name and splits at `;`; iTerm2 takes one line; none can unset a
variable. And every user can list processes with their arguments, including keys and tokens. So
everything goes into a file that only its owner can read, and the pane runs `launcher.py`, which
deletes it and becomes the program.
"""

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from prong import paths
from prong.errors import UsageError
from prong.model.forks import Launch

FOREIGN = (
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "AI_AGENT"),
    *("CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN"),
    *("CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_EFFORT"),
)
"""Variables that an agent sets for its child processes; another agent must not inherit them.

A terminal's server has them when an agent started it.
"""
_OF_ONE_WORKER = (
    *("PRONG_WORKER", "PRONG_AGENT", "PRONG_COMMIT_TURNS", "PRONG_PUSH"),
    *("PRONG_BADGE", "PRONG_ISSUE"),
    "CLAUDE_PROJECT_DIR",
)
"""Variables of prong that only the worker they were set for may have."""
_LAUNCHER = Path(__file__).with_name("launcher.py")
_STALE = 3600
"""Age in seconds after which a file is deleted: its pane never opened."""


@contextmanager
def handed_over(launch: Launch) -> Generator[tuple[str, ...], None, None]:
    """Yield the command line that starts the program; delete the launch file on error."""
    path = _written(launch)
    try:
        yield (sys.executable, "-I", "-S", str(_LAUNCHER), path)
    except BaseException:
        with suppress(FileNotFoundError):
            Path(path).unlink()
        raise


def _written(launch: Launch) -> str:
    changes = [f"{name}={value}" for name, value in launch.env.items() if name not in FOREIGN]
    removed = [*FOREIGN, *(name for name in _OF_ONE_WORKER if name not in launch.env)]
    fields = [str(launch.cwd), str(len(launch.argv)), *launch.argv, *changes, *removed]
    if any("\0" in field for field in fields):
        raise UsageError("a program takes no text with a NUL in it")
    if any("=" in name or not name for name in launch.env):
        raise UsageError("the name of a variable has no '=' in it")
    folder = paths.private_dir(paths.state_dir() / "launches")
    _sweep(folder)
    import tempfile

    descriptor, path = tempfile.mkstemp(dir=folder)  # mode 0600
    with open(descriptor, "wb") as file:  # noqa: PTH123 -- a file descriptor
        file.write(b"\0".join(map(os.fsencode, fields)))
    return path


def _sweep(folder: Path) -> None:
    """Delete launch files that no pane collected."""
    oldest = time.time() - _STALE
    for file in folder.iterdir():
        with suppress(FileNotFoundError):
            if file.stat().st_mtime < oldest:
                file.unlink()
