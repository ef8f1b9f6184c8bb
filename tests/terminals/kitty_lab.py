"""A real kitty on a screen that nobody sees (Xvfb). Starting it takes seconds: once per module."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from prong.terminals.kitty import Kitty
from prong.testing.wait import wait_until

CONFIG = """\
allow_remote_control socket-only
listen_on unix:{socket}
confirm_os_window_close 0
update_check_interval 0
scrollback_lines 5000
enabled_layouts splits
"""
PATH = "/usr/local/bin:/usr/bin:/bin"


class KittyLab:
    """One kitty with one window in it, which stays."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        for program in ("kitty", "Xvfb"):
            if shutil.which(program) is None:
                pytest.skip(f"{program} is not installed")
        self.listens = f"unix:{folder / 'k'}"
        self._folder = folder
        self._env = env
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self._start(self._screen())
            found = Kitty({"PRONG_KITTY_SOCKET": self.listens})
            wait_until(lambda: found.problem() is None, what="a kitty that listens")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def socket(self) -> str:
        """With the pid that kitty has put behind it."""
        return f"{self.listens}-{self._started[-1].pid}"

    def inside(self) -> dict[str, str]:
        """The variables of its first window."""
        return {
            "KITTY_LISTEN_ON": self.socket,
            "KITTY_WINDOW_ID": "1",
            "KITTY_PID": str(self._started[-1].pid),
            "TERM": "xterm-kitty",
        }

    def stop(self) -> None:
        while self._started:
            process = self._started.pop()
            process.terminate()
            process.wait()

    def _screen(self) -> str:
        """Start the screen, which chooses a number that is free."""
        ours, its = os.pipe()
        argv = ["Xvfb", "-displayfd", str(its), "-screen", "0", "1280x800x24", "-nolisten", "tcp"]
        quiet = subprocess.DEVNULL
        self._started.append(
            subprocess.Popen(argv, pass_fds=[its], stdout=quiet, stderr=quiet, env={"PATH": PATH})
        )
        os.close(its)
        with os.fdopen(ours) as told:
            return f":{told.readline().strip()}"

    def _start(self, display: str) -> None:
        config = self._folder / "kitty.conf"
        config.write_text(CONFIG.format(socket=self._folder / "k"), encoding="utf-8")
        env = {
            "PATH": PATH,
            "HOME": str(self._folder),
            "DISPLAY": display,
            "LIBGL_ALWAYS_SOFTWARE": "1",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            "XDG_RUNTIME_DIR": str(self._folder),
            **self._env,
        }
        log = (self._folder / "log").open("wb")
        with log:
            self._started.append(
                subprocess.Popen(
                    ["kitty", "--config", str(config), "sleep", "3600"],
                    env=env,
                    stdout=log,
                    stderr=log,
                )
            )
