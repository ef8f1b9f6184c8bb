"""A private tmux server, which dies with the `with` block."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self


class TmuxLab:
    def __init__(self, folder: Path) -> None:
        # The name of a socket may not be long.
        self.socket = str(folder / "s")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.tmux("kill-server", check=False)

    def inside(self, env: Mapping[str, str]) -> dict[str, str]:
        """The variables of a pane, in a server that was started with this environment."""
        size = ("-x", "200", "-y", "50")
        self.tmux("new-session", "-d", "-s", "main", *size, "sleep", "3600", env=env)
        return self.inside_again("main")

    def inside_again(self, session: str = "") -> dict[str, str]:
        """The same of a server that runs already."""
        which = "#{socket_path},#{pid},0 #{pane_id}"
        told = self.tmux("display-message", "-p", "-t", session, which)
        server, _, pane = told.rstrip("\n").rpartition(" ")
        return {"TMUX": server, "TMUX_PANE": pane, "TERM": "tmux-256color", "TERM_PROGRAM": "tmux"}

    def tmux(
        self, *arguments: str, env: Mapping[str, str] | None = None, check: bool = True
    ) -> str:
        argv = ["tmux", "-S", self.socket, "-f", "/dev/null", *arguments]
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout
