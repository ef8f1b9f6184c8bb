"""A terminal for tests: tmux on a private socket, with no config file of the user."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from prong.testing.wait import PATIENCE, POLL, wait_until
from tests.drivers.programs import MissingProgram


class Tmux:
    """One pane that runs one program. The private tmux server dies with the `with` block."""

    def __init__(self, home: Path, size: tuple[int, int] = (140, 45)) -> None:
        self.socket = f"prong-test-{uuid.uuid4().hex[:12]}"
        self.size = size
        self._home = home
        program = shutil.which("tmux")
        if program is None:
            raise MissingProgram("tmux is not installed")
        self._program = program

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def start(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        """Run `argv` in a new pane with exactly this environment."""
        width, height = self.size
        # tmux adds its own variables (TMUX, TMUX_PANE); `env -i` takes them away. It then becomes
        # the program, so the pane's pid is the program's.
        pairs = [f"{key}={value}" for key, value in env.items()]
        self._run("kill-server", check=False)
        self._run(
            *("new-session", "-d", "-s", "main", "-x", str(width), "-y", str(height)),
            *("-c", str(cwd), "env", "-i", *pairs, *argv),
        )

    def send_text(self, text: str) -> None:
        """Type the text literally; nothing in it is taken as a key name."""
        self._run("send-keys", "-t", "main", "-l", "--", text)

    def key(self, *names: str) -> None:
        """Press keys by their tmux names (Enter, Escape, C-c, Up)."""
        self._run("send-keys", "-t", "main", *names)

    def paste(self, text: str) -> None:
        """Put the text in as a bracketed paste, for what cannot be typed (line separators)."""
        self._run("set-buffer", "--", text)
        self._run("paste-buffer", "-p", "-t", "main")

    def resize(self, width: int, height: int) -> None:
        """Make the terminal as large as this."""
        self._run("resize-window", "-t", "main", "-x", str(width), "-y", str(height))

    def capture(self, *, history: bool = False) -> str:
        """The screen as text; with `history`, what has scrolled away too. "" when it is gone."""
        extra = ["-S", "-"] if history else []
        return self._run("capture-pane", "-p", "-t", "main", *extra, check=False)

    def wait_for(
        self, wanted: str | Callable[[str], bool], timeout: float = PATIENCE, what: str = ""
    ) -> str:
        """The first screen that contains the text (or fulfils the predicate)."""
        deadline = time.monotonic() + timeout
        while True:
            screen = self.capture()
            if wanted in screen if isinstance(wanted, str) else wanted(screen):
                return screen
            if time.monotonic() > deadline:
                name = what or (wanted if isinstance(wanted, str) else "the wanted screen")
                raise TimeoutError(f"{name!r} did not show in {timeout} s; the screen:\n{screen}")
            time.sleep(POLL)

    def alive(self) -> bool:
        """Whether the program still runs."""
        return bool(self._run("list-panes", "-t", "main", check=False))

    def wait_gone(self, timeout: float = PATIENCE) -> None:
        """Wait until the program has ended."""
        wait_until(lambda: not self.alive(), timeout, "the end of the program")

    def pid(self) -> int:
        """The process id of the program."""
        return int(self._run("list-panes", "-t", "main", "-F", "#{pane_pid}"))

    def kill(self) -> None:
        """End the program and the server of the private socket."""
        self._run("kill-server", check=False)

    def _run(self, *arguments: str, check: bool = True) -> str:
        argv = [self._program, "-L", self.socket, "-f", "/dev/null", *arguments]
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self._home), "LANG": "C.UTF-8"}
        env |= {"TERM": "xterm-256color", "SHELL": "/bin/sh"}
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise RuntimeError(f"{shlex.join(argv[:12])}: {done.stderr.strip()}")
        return done.stdout
