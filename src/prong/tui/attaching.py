"""A program in this terminal, for a while, in place of the screen."""

import subprocess

from prong.agents.run import environment
from prong.errors import Unavailable
from prong.model.forks import Launch


def shown_here(launch: Launch) -> int:
    """Run it until the person comes back: detaches, or ends it. Gives its exit status."""
    try:
        done = subprocess.run(launch.argv, cwd=launch.cwd, env=environment(launch), check=False)
    except OSError as error:
        raise Unavailable(
            f"{launch.argv[0]} does not start: {error.strerror}", hint="prong doctor"
        ) from None
    return done.returncode
