"""How a program with its words, folder and environment gets into a pane, whatever the terminal.

Each terminal has its own limits and its own reading of what it is given: tmux takes 16 KB of
words, runs `#(...)` in a folder's name and splits at a `;`; iTerm2 takes a line; none can take
a variable away. And words are seen by everybody who lists processes, keys and tokens among them:
what starts a tmux server stays its command line. So all of it lies in a file that only its
owner can read, and the pane starts `launcher.py`, which removes the file and becomes the program.
"""

from __future__ import annotations

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
"""Set by an agent for the programs that it starts: another agent must not take them for its own.

The server of a terminal has them when it was started by an agent.
"""
_OF_ONE_WORKER = (
    *("PRONG_WORKER", "PRONG_COMMIT_TURNS", "PRONG_PUSH", "PRONG_BADGE", "PRONG_ISSUE"),
    "CLAUDE_PROJECT_DIR",
)
"""The same of prong: only the worker that they are set for may have them."""
_LAUNCHER = Path(__file__).with_name("launcher.py")
_STALE = 3600
"""After so many seconds nothing comes any more for a file: its pane was never there."""


@contextmanager
def handed_over(launch: Launch) -> Generator[tuple[str, ...], None, None]:
    """The words with which a terminal starts the program. An error takes the file away again."""
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

    number, path = tempfile.mkstemp(dir=folder)  # readable by its owner only
    with open(number, "wb") as file:  # noqa: PTH123 -- of a number
        file.write(b"\0".join(map(os.fsencode, fields)))
    return path


def _sweep(folder: Path) -> None:
    """Remove what nobody came for."""
    oldest = time.time() - _STALE
    for file in folder.iterdir():
        with suppress(FileNotFoundError):
            if file.stat().st_mtime < oldest:
                file.unlink()
