"""The agents' own programs: are they there, and do they know the flags that will be used?"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from prong.errors import Unavailable
from prong.files.regular import read_regular
from prong.model.sessions import Program
from prong.paths import private_dir

TIMEOUT = 20.0
_COLOURS = ("CLICOLOR_FORCE", "FORCE_COLOR")
"""Settings of a person under which programs colour their help: no flag could be read in it."""


class Programs:
    """Asks programs what they can do, once for each version of them."""

    def __init__(self, memory: Path | None = None, *, needed: bool = True) -> None:
        """`memory` is a file that may be deleted. Without `needed`, nothing is ever asked for."""
        self._memory = memory
        self._needed = needed

    def require(self, program: Program) -> None:
        """Raise `Unavailable` unless the program is there and can do what is wanted."""
        if not self._needed:
            return
        path = shutil.which(program.name)
        if path is None:
            raise Unavailable(f"{program.name} is not on PATH", hint=program.install)
        missing = self._missing(path, program.flags)
        if missing is None:
            raise Unavailable(f"{path} does not run", hint=program.install)
        if missing:
            message = f"{path} does not know {', '.join(missing)}"
            raise Unavailable(message, hint=f"update it: {program.install}")

    def _missing(self, path: str, flags: Sequence[str]) -> list[str] | None:
        stat = Path(path).stat()
        version = [path, stat.st_size, stat.st_mtime_ns, *flags]
        remembered = self._recall()
        if version in remembered:
            return []
        missing = missing_flags(path, flags)
        if missing == [] and self._memory is not None:
            # What another version of it knew is of no use any more.
            stale = [entry for entry in remembered if entry[0] == path and entry[:3] != version[:3]]
            kept = [entry for entry in remembered if entry not in stale]
            with suppress(OSError):
                private_dir(self._memory.parent)
                self._memory.write_text(json.dumps([*kept, version]), encoding="utf-8")
        return missing

    def _recall(self) -> list[Any]:
        if self._memory is None:
            return []
        try:
            known: Any = json.loads(read_regular(self._memory))
        except (OSError, ValueError):
            return []
        return known if isinstance(known, list) else []  # pyright: ignore[reportUnknownVariableType]


def missing_flags(path: str, flags: Sequence[str]) -> list[str] | None:
    """The flags that `--help` does not list; None when the program does not run."""
    known = output([path, "--help"])
    if known is None:
        return None
    # At the beginning of a help line, alone or behind its short form: `  -r, --resume [value]`.
    return [
        flag
        for flag in flags
        if not re.search(rf"^\s+(?:-\w,\s*)?{re.escape(flag)}(?![\w-])", known, re.MULTILINE)
    ]


def output(argv: list[str]) -> str | None:
    """What a program prints about itself; None when it fails or hangs."""
    try:
        done = subprocess.run(
            argv,
            env={name: value for name, value in os.environ.items() if name not in _COLOURS},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = done.stdout or done.stderr
    return text if done.returncode == 0 and text.strip() else None
