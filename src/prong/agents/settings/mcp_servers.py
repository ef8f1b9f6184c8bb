"""Helpers shared by Claude Code and Codex to read and change their MCP servers."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from prong.agents.run import completed
from prong.agents.settings.mcp_base import McpServer
from prong.errors import External

TIMEOUT = 60.0
HIDDEN = "..."
"""Replaces the value of a variable, which may be a secret."""
_COMPLAINT = 2000


def run(argv: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
    """Run an agent's program in a folder. Raises `External` with its error message."""
    command = " ".join(argv[:3])
    try:
        result = completed(argv, folder, env, TIMEOUT)
    except subprocess.TimeoutExpired:
        raise External(f"{command} did not end within {TIMEOUT:.0f} s") from None
    if result.returncode:
        output = (result.stderr.strip() or result.stdout.strip())[-_COMPLAINT:]
        complaint = output.split("\n")[0] or f"exit status {result.returncode}"
        raise External(f"{command}: {complaint}", status=result.returncode, stderr=output)


def server(settings: Any) -> McpServer | None:
    """Parse the server of an entry, in the form both agents use; None if it has no command."""
    if not isinstance(settings, dict):
        return None
    table = cast(dict[str, Any], settings)
    command = table.get("command")
    if not isinstance(command, str):
        return None
    env: Any = table.get("env")
    pairs = cast(dict[str, Any], env) if isinstance(env, dict) else {}
    return McpServer(
        (command, *_texts(table.get("args"))),
        {name: str(value) for name, value in pairs.items()},
        tuple(_texts(table.get("env_vars"))),
    )


def without_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Hide the values of variables and headers, which may be secrets."""
    return {
        key: _hidden(value) if _may_have_keys(key) else value for key, value in settings.items()
    }


def _may_have_keys(key: str) -> bool:
    return key == "env" or "header" in key.lower()


def _hidden(value: Any) -> Any:
    return dict.fromkeys(cast(dict[str, Any], value), HIDDEN) if isinstance(value, dict) else HIDDEN


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _texts(value: Any) -> list[str]:
    items = cast(list[Any], value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]
