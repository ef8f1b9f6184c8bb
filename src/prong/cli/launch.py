"""Replacing the prong process with another program."""

from typing import TYPE_CHECKING, NoReturn

from prong.errors import Unavailable

if TYPE_CHECKING:
    from prong.app import App
    from prong.model.forks import Launch


def become(app: "App", agent: str, launch: "Launch") -> NoReturn:
    """Replace this process with the agent, with prong's hooks enabled for this run."""
    run_here(app.setup.hooks.for_one_run(agent, launch))


def run_here(launch: "Launch") -> NoReturn:
    """Replace this process with a program."""
    import os
    import sys

    from prong.agents.run import environment

    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed with `prong >&-`
            stream.flush()
    try:
        os.chdir(launch.cwd)
        os.execvpe(launch.argv[0], list(launch.argv), environment(launch))  # noqa: S606
    except OSError as error:
        raise Unavailable(
            f"{launch.argv[0]} does not start: {error.strerror}", hint="prong doctor"
        ) from None
