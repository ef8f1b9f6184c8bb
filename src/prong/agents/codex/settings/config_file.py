"""config.toml of Codex: read as a table, edited as lines of text.

An edit adds lines or changes one, and the result must then say what was wanted. Why no library
does it: docs/adr/0020.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

from prong.agents.settings.file import SettingsText
from prong.errors import ConfigError

LINE = re.compile(r"[^\n]*\n|[^\n]+")
"""Not splitlines(): that also splits at what may stand inside a string."""


def table(path: Path, content: bytes | None) -> dict[str, Any]:
    """What the file says. Raises `ConfigError` for one that is not TOML."""
    try:
        return tomllib.loads(SettingsText.decode(path, content).text)
    except tomllib.TOMLDecodeError as error:
        message = f"{path} is not TOML ({error}): prong leaves it unchanged"
        raise ConfigError(message, path=str(path)) from None


def says(text: str, expected: dict[str, Any]) -> bool:
    """Whether a file with this text would say this, and nothing else."""
    try:
        return tomllib.loads(text) == expected
    except tomllib.TOMLDecodeError:
        return False


def line_end(text: str) -> str:
    """How the lines of a file end."""
    return "\r\n" if "\r\n" in text else "\n"
