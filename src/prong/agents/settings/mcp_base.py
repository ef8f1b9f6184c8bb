"""Base class and records for registering MCP servers with an agent.

Separate from `prong.agents.base`, because only `prong mcp install` and `prong doctor` need it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from prong.model.record import Record, field

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
