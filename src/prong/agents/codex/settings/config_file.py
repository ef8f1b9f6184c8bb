"""Read Codex's config.toml as a table and edit it as lines of text.

An edit adds or changes lines, then checks that the parsed result is the intended one.
docs/adr/0020 explains why no library is used.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from prong.agents.settings.file import SettingsText
from prong.errors import ConfigError
from prong.files.regular import read_regular

LINE = re.compile(r"[^\n]*\n|[^\n]+")
"""A line. `splitlines()` would also split at separators that may occur inside a string."""


def table(path: Path, content: bytes | None) -> dict[str, Any]:
    """Parse the file. Raises `ConfigError` if it is not TOML."""
    try:
        return tomllib.loads(SettingsText.decode(path, content).text)
    except tomllib.TOMLDecodeError as error:
        message = f"{path} is not TOML ({error}): prong leaves it unchanged"
        raise ConfigError(message, path=str(path)) from None


def merged(root: Path, profile: str | None) -> dict[str, Any]:
    """Read the user's settings, overridden by a profile, as far as they can be read."""
    names = ["config.toml", *([f"{profile}.config.toml"] if profile else [])]
    settings: dict[str, Any] = {}
    for name in names:
        with suppress(OSError, ValueError):
            settings |= tomllib.loads(read_regular(root / name).decode())
    return settings


def servers_off(root: Path, cwd: Path) -> Iterator[str]:
    """Yield settings that disable each MCP server of the user and of the project."""
    files = [root / "config.toml", *root.glob("*.config.toml")]
    files += [folder / ".codex/config.toml" for folder in (cwd, *cwd.parents)]
    names: dict[str, bool] = {}
    for file in files:
        with suppress(OSError, ValueError):
            table = tomllib.loads(read_regular(file).decode()).get("mcp_servers", {})
            servers = msgspec.convert(table, dict[str, dict[str, Any]])
            names |= {name: "url" in server for name, server in servers.items()}
    disabled = ",".join(
        # Each needs a transport, or Codex rejects the settings of a server that it does not know.
        f"{json.dumps(name, ensure_ascii=False)}={{enabled=false,"
        + ('url="http://127.0.0.1:9"}' if remote else 'command="true"}')
        for name, remote in names.items()
    )
    if disabled:
        yield f"mcp_servers={{{disabled}}}"


def says(text: str, expected: dict[str, Any]) -> bool:
    """Check that text parses to exactly this table."""
    try:
        return tomllib.loads(text) == expected
    except tomllib.TOMLDecodeError:
        return False


def line_end(text: str) -> str:
    """Return the line separator of a file."""
    return "\r\n" if "\r\n" in text else "\n"
