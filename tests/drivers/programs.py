"""Where the programs that tests drive are installed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


class MissingProgram(Exception):
    """A program that a test needs is not installed. The fixtures turn this into a skip."""


def find_program(name: str, variable: str, start: Path | None = None) -> Path:
    """The program from the environment variable, from `tests/agents/node_modules`, or from PATH.

    The folder is looked for upwards from `start` (the current folder): tests may be run from
    anywhere inside the project.
    """
    given = os.environ.get(variable)
    if given:
        path = Path(given)
        if not path.is_file():
            raise MissingProgram(f"{variable} names {given}, which does not exist")
        return path.resolve()
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        candidate = folder / "tests/agents/node_modules/.bin" / name
        if candidate.exists():
            return candidate.resolve()
    found = shutil.which(name)
    if found is None:
        raise MissingProgram(f"{name} is not installed (set {variable}, or run `make agents`)")
    return Path(found).resolve()
