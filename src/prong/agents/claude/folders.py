"""Claude Code's root folder, and its folder name for a project."""

import os
from pathlib import Path

_LIMIT = 200
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"

SUBAGENT = "agent-"
"""Prefix of the files of sub-agents."""


def project_folder(cwd: str | Path) -> str:
    """Return the name under `projects/` for a working directory; `a.b` and `a-b` share one."""
    # JavaScript counts UTF-16 units, of which an emoji has two; surrogatepass accepts the
    # undecodable bytes of a path.
    data = os.path.realpath(cwd).encode("utf-16-le", "surrogatepass")
    units = [low | high << 8 for low, high in zip(data[::2], data[1::2], strict=True)]
    name = "".join(chr(unit) if unit < 128 and chr(unit).isalnum() else "-" for unit in units)
    if len(name) <= _LIMIT:
        return name
    value = 0
    for unit in units:
        value = (value * 31 + unit) & 0xFFFFFFFF
    # The absolute value of a signed number of 32 bits.
    return f"{name[:_LIMIT]}-{_base36(min(value, (1 << 32) - value))}"


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _BASE36[digit] + digits
    return digits or "0"
