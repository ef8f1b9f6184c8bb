"""Checks of agent programs: whether they are installed and support the flags that prong uses."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from prong.errors import Unavailable
from prong.files import atomic
from prong.files.regular import read_regular
from prong.model.record import Record
from prong.model.sessions import Program

TIMEOUT = 20.0
_COLOURS = ("CLICOLOR_FORCE", "FORCE_COLOR")
"""User settings that make programs colour their help, which would hide the flags."""


class Programs(Record, frozen=True):
    """Checks what programs support, once per version."""

    memory: Path | None = None
    """A cache file."""
    needed: bool = True
    """If False, nothing is ever checked."""

    def require(self, program: Program) -> None:
        """Raise `Unavailable` unless the program is installed and has every required flag."""
        if not self.needed:
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
        if missing == [] and self.memory is not None:
            # Entries of other versions are obsolete.
            kept = [entry for entry in remembered if entry[0] != path or entry[:3] == version[:3]]
            with suppress(OSError):
                content = json.dumps([*kept, version]).encode()
                atomic.write_private(self.memory, content, sync=False)
        return missing

    def _recall(self) -> list[Any]:
        if self.memory is not None:
            with suppress(OSError, ValueError):
                entries: Any = json.loads(read_regular(self.memory))
                return cast(list[Any], entries) if isinstance(entries, list) else []
        return []


def missing_flags(path: str, flags: Sequence[str]) -> list[str] | None:
    """Return the flags that `--help` does not list; None if the program does not run."""
    help_text = output([path, "--help"])
    if help_text is None:
        return None
    # At the start of a help line, alone or after its short form: `  -r, --resume [value]`.
    return [
        flag
        for flag in flags
        if not re.search(rf"^\s+(?:-\w,\s*)?{re.escape(flag)}(?![\w-])", help_text, re.MULTILINE)
    ]


def output(argv: list[str]) -> str | None:
    """Return what a program prints about itself; None if it fails or hangs."""
    try:
        process = subprocess.run(
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
    text = process.stdout or process.stderr
    return text if process.returncode == 0 and text.strip() else None
