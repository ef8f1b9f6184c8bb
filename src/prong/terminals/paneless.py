"""Terminals without panes: this one, which becomes the program, and a command to paste anywhere."""

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from prong.errors import External, Unavailable
from prong.model.forks import Launch
from prong.model.workers import LivePane, Pane, Placement
from prong.terminals.handover import FOREIGN


class _Paneless:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def problem(self) -> str | None:
        return None

    def alive(self, panes: Sequence[Pane]) -> Mapping[Pane, LivePane]:
        return {}

    def close(self, pane: Pane) -> None:
        """Do nothing: the process has become the program, or prong never started it."""


class Exec(_Paneless):
    """The current terminal: the program replaces prong's own process."""

    name = "exec"
    is_here = True
    takes_over = True

    def open(self, launch: Launch, place: Placement) -> NoReturn:
        merged = {**self._environ, **launch.env, "PWD": str(launch.cwd)}
        environ = {name: value for name, value in merged.items() if name not in FOREIGN}
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            os.chdir(launch.cwd)
        except OSError as error:
            message = f"cannot go to {launch.cwd}: {error.strerror}"
            raise External(message, hint="check that the folder exists") from None
        try:
            os.execvpe(launch.argv[0], launch.argv, environ)  # noqa: S606 -- no shell is wanted
        except FileNotFoundError:
            message = f"{launch.argv[0]} is not installed"
            raise Unavailable(message, hint=f"install {launch.argv[0]}, or look at PATH") from None
        except OSError as error:
            message = f"cannot start {launch.argv[0]}: {error.strerror}"
            raise External(message, hint="prong doctor", argv=list(launch.argv)) from None


class Print(_Paneless):
    """A command to paste into any shell. The pane's id is the command."""

    name = "print"
    is_here = False
    only_tells = True

    def open(self, launch: Launch, place: Placement) -> Pane:
        """Return the command, without the variables that the calling shell already has."""
        unset = [word for name in FOREIGN if name in self._environ for word in ("-u", name)]
        pairs = [
            f"{name}={value}"
            for name, value in launch.env.items()
            if name not in FOREIGN and self._environ.get(name) != value
        ]
        env = ["env", *unset, *pairs] if unset or pairs else []
        folder = shlex.join(["cd", "--", str(launch.cwd)])
        return Pane(self.name, f"{folder} && {shlex.join([*env, *launch.argv])}")
