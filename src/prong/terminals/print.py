"""A command to paste into any shell instead of a pane. The pane's id is the command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from prong.model.forks import Launch
from prong.model.workers import LivePane, Pane, Placement
from prong.terminals.handover import FOREIGN


class Print:
    name = "print"
    only_tells = True

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    @property
    def is_here(self) -> bool:
        return False

    def problem(self) -> str | None:
        return None

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

    def alive(self, panes: Sequence[Pane]) -> Mapping[Pane, LivePane]:
        return {}

    def close(self, pane: Pane) -> None:
        """Do nothing: prong does not know where the command was run."""
