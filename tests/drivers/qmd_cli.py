"""The real qmd, in a throw-away home and without models."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from prong.testing.home import SYSTEM_PATH, IsolatedHome
from prong.testing.wait import PATIENCE
from tests.drivers.programs import MissingProgram

VARIABLE = "PRONG_TEST_QMD"


class QmdCli:
    """Runs `qmd`. Its index, its configuration and its models lie below `home`."""

    def __init__(self, home: IsolatedHome) -> None:
        self.home = home
        self.program = _program()

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of every run; the Node beside qmd is the one that it gets."""
        path = f"{self.program.parent}:{SYSTEM_PATH}"
        return self.home.env({"PATH": path, **(extra or {})})

    def run(self, *args: str, cwd: Path | None = None) -> str:
        """What it prints; raises when it fails."""
        done = subprocess.run(
            [str(self.program), *args],
            cwd=cwd or self.home.root,
            env=self.env(),
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return done.stdout


def _program() -> Path:
    """From the environment variable, or from `tests/qmd/node_modules` here or further up.

    Not from PATH: another version may answer differently, and need another Node.
    """
    if given := os.environ.get(VARIABLE):
        return Path(given).absolute()
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        candidate = folder / "tests/qmd/node_modules/.bin/qmd"
        if candidate.exists():
            return candidate
    raise MissingProgram(f"qmd is not installed (set {VARIABLE}, or run tests/qmd/install)")
