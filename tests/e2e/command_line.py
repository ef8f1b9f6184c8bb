"""`prong` typed beside a real agent: the agent's own environment, and it on PATH."""

from __future__ import annotations

import os
from pathlib import Path

from prong.testing.home import IsolatedHome


def environment(home: IsolatedHome, env: dict[str, str], program: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    path = os.pathsep.join([str(program.parent), os.environ["PATH"]])
    return {**home.env(kept), **env, "PATH": path}
