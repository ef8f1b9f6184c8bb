"""Claude Code's root folder, and its folder name for a project."""

import os
from pathlib import Path

_LIMIT = 200
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"

SUBAGENT = "agent-"
"""Prefix of the files of sub-agents."""


def default_root() -> Path:
    configured = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(configured) if configured else Path.home() / ".claude"


def project_folder(cwd: str | Path) -> str:
    """Return the name under `projects/` for a working directory; `a.b` and `a-b` share one."""
    path = os.path.realpath(cwd)
    units = _utf16_units(path)
    name = "".join(chr(unit) if _is_plain(unit) else "-" for unit in units)
    if len(name) <= _LIMIT:
        return name
    return f"{name[:_LIMIT]}-{_base36(abs(_hash(units)))}"


def _utf16_units(text: str) -> list[int]:
    # JavaScript counts UTF-16 units, of which an emoji has two; surrogatepass accepts the
    # undecodable bytes of a path.
    data = text.encode("utf-16-le", "surrogatepass")
    return [data[i] | data[i + 1] << 8 for i in range(0, len(data), 2)]


def _is_plain(unit: int) -> bool:
    return unit < 128 and chr(unit).isalnum()


def _hash(units: list[int]) -> int:
    value = 0
    for unit in units:
        value = (value * 31 + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _BASE36[digit] + digits
    return digits or "0"
