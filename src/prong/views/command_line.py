"""Shell command lines, ready to paste."""

import re
import shlex
from pathlib import Path

from prong.model.forks import Launch

_UNSAFE = re.compile(r"[^\x20-\x7e\xa0-\U0010ffff]|[\u2028-\u202f\u2066-\u2069\ufeff]")
"""Control and invisible characters: a terminal would obey them, or copying would lose them."""


def command_line(launch: Launch) -> str:
    """Format the command to run from the current directory. Safe to print."""
    words = [f"{name}={quoted(value)}" for name, value in launch.env.items()]
    line = " ".join([*words, *map(quoted, launch.argv)])
    return line if _is_here(launch.cwd) else f"cd {quoted(str(launch.cwd))} && {line}"


def quoted(word: str) -> str:
    """Quote a word for the shell. Control characters become `$'...'` escapes (bash, zsh, ksh)."""
    if not _UNSAFE.search(word):
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"$'{_UNSAFE.sub(_spelled, escaped)}'"


def _spelled(found: re.Match[str]) -> str:
    return "".join(f"\\x{byte:02x}" for byte in found[0].encode("utf-8", "surrogateescape"))


def _is_here(folder: Path) -> bool:
    try:
        return folder.samefile(Path())
    except OSError:
        return False
