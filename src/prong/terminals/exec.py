"""The current terminal: the program replaces prong's own process."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

from prong.errors import External, Unavailable
from prong.model.forks import Launch
from prong.model.workers import LivePane, Pane, Placement
from prong.terminals.handover import FOREIGN


class Exec:
    name = "exec"
    takes_over = True

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    @property
    def is_here(self) -> bool:
        return True

    def problem(self) -> str | None:
        return None

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

    def alive(self, panes: Sequence[Pane]) -> Mapping[Pane, LivePane]:
        return {}

    def close(self, pane: Pane) -> None:
        """Do nothing: the process that could close the pane has become the program."""
