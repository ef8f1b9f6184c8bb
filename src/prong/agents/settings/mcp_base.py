"""Register MCP servers with an agent: the base class of editors, and what they share.

Separate from `prong.agents.base`, because only `prong mcp install` and `prong doctor` need it.
"""

from __future__ import annotations

import json
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from prong.agents.common import as_dict, as_list
from prong.agents.run import completed
from prong.errors import External
from prong.model.record import Record, field

TIMEOUT = 60.0
HIDDEN = "..."
"""Replaces the value of a variable, which may be a secret."""
_COMPLAINT = 2000

McpScope = Literal["user", "local", "project"]
"""All folders; one folder, for this user; one folder, for everybody who works on it."""


class McpServer(Record, frozen=True):
    """A program that an agent starts as an MCP server."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables to set, besides those passed on by the agent."""
    handed_on: tuple[str, ...] = ()
    """Names of variables to pass on from the agent's environment, for agents that pass on few.

    Only the names are stored, so that secrets are not copied.
    """


class McpEntry(Record, frozen=True):
    """An MCP server in an agent's settings file."""

    scope: McpScope
    path: Path
    server: McpServer | None
    """None for a server that is not started, such as one with a URL."""
    settings: Mapping[str, Any]
    """The whole entry."""
    text: str
    """The entry for display, without the values of variables, which may be secrets."""


class McpChange(Record, frozen=True):
    """An entry before and after a change; None where it does not exist."""

    name: str
    scope: McpScope
    folder: Path
    before: McpEntry | None
    after: McpEntry | None


class AgentMcp(ABC):
    """Editor of an agent's list of MCP servers, by the agent's own commands."""

    scopes: Sequence[McpScope]
    """The supported scopes, in order of precedence."""
    hands_on_all: bool
    """Whether servers inherit the whole environment of the agent."""

    @abstractmethod
    def entry(self, name: str, scope: McpScope, folder: Path) -> McpEntry | None:
        """Return the current entry. Raises `ConfigError` when the file cannot be read."""

    @abstractmethod
    def planned(self, name: str, scope: McpScope, folder: Path, server: McpServer) -> McpEntry:
        """Return the entry to write, keeping other settings that the user made for this name."""

    def plug_in(self, name: str) -> str | None:
        """Return the enabled plug-in of this name, which brings its own server."""
        return None

    @abstractmethod
    def commands(self, change: McpChange) -> Sequence[Sequence[str]]:
        """Return the commands to run, without the values of variables."""

    @abstractmethod
    def carry_out(self, change: McpChange) -> None:
        """Run the agent's own commands. Raises `External` when one fails."""


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


def settings_for(server: McpServer, old: McpEntry | None, new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of an entry: the old ones, or those of a new one, for this server."""
    command, *args = server.command
    settings = {**(old.settings if old else new), "command": command, "args": args}
    if env := {**(old.server.env if old and old.server else {}), **server.env}:
        settings["env"] = env
    return settings


def server(settings: Mapping[str, Any]) -> McpServer | None:
    """Parse the server of an entry, in the form both agents use; None if it has no command."""
    command = settings.get("command")
    if not isinstance(command, str):
        return None
    env = as_dict(settings.get("env"))
    return McpServer(
        (command, *_texts(settings.get("args"))),
        {name: str(value) for name, value in env.items()},
        tuple(_texts(settings.get("env_vars"))),
    )


def without_values(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Hide the values of variables and headers, which may be secrets."""
    return {
        key: _hidden(value) if key == "env" or "header" in key.lower() else value
        for key, value in settings.items()
    }


def _hidden(value: Any) -> Any:
    return dict.fromkeys(as_dict(value), HIDDEN) if isinstance(value, dict) else HIDDEN


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _texts(value: Any) -> list[str]:
    return [item for item in as_list(value) if isinstance(item, str)]
