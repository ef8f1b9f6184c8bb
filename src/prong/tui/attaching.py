"""Running a program in this terminal while the UI is suspended."""

import subprocess

from prong.agents.run import environment
from prong.errors import Unavailable
from prong.model.forks import Launch


def shown_here(launch: Launch) -> int:
    """Run it until the user detaches or ends it; return its exit status."""
    try:
        result = subprocess.run(launch.argv, cwd=launch.cwd, env=environment(launch), check=False)
    except OSError as error:
        raise Unavailable(
            f"{launch.argv[0]} does not start: {error.strerror}", hint="prong doctor"
        ) from None
    return result.returncode
