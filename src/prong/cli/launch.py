"""Commands to start: shown so that they can be pasted, or run in place of prong."""

from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from prong.model import Launch


def command_line(launch: "Launch") -> str:
    """What to type in a shell, from the folder one is in."""
    import shlex
    from pathlib import Path

    words = [f"{name}={shlex.quote(value)}" for name, value in launch.env.items()]
    words.append(shlex.join(launch.argv))
    line = " ".join(words)
    return line if _is_here(launch.cwd, Path()) else f"cd {shlex.quote(str(launch.cwd))} && {line}"


def _is_here(folder: object, here: object) -> bool:
    import os

    try:
        return os.path.samefile(str(folder), str(here))  # noqa: PTH121
    except OSError:
        return False


def become(launch: "Launch") -> NoReturn:
    """Replace this process with the agent."""
    import os
    import sys

    from prong.app.programs import environment
    from prong.errors import Unavailable

    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.chdir(launch.cwd)
        os.execvpe(launch.argv[0], list(launch.argv), environment(launch.env))  # noqa: S606
    except OSError as error:
        raise Unavailable(
            f"{launch.argv[0]} does not start: {error.strerror}", hint="prong doctor"
        ) from None
