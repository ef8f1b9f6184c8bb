"""The seam for MCP: how an agent is told of a server that it may ask for tools.

It is apart from `prong.agents.base` because only `prong mcp install` and `prong doctor` need it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from prong.model.record import Record, field

McpScope = Literal["user", "local", "project"]
"""For all folders; for one folder and one person; for one folder and everybody who works on it."""


class McpServer(Record, frozen=True):
    """A program that an agent starts and speaks MCP with."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """What it gets in addition to what the agent hands on."""
    handed_on: tuple[str, ...] = ()
    """The names of variables that it gets from the agent's own environment, as they are then.

    For agents that hand on few. Only names are written down, so keys stay where they are.
    """


class McpEntry(Record, frozen=True):
    """A server, as it stands in a settings file of an agent."""

    scope: McpScope
    path: Path
    server: McpServer | None
    """None for one that is not started, such as one behind an address."""
    settings: Mapping[str, Any]
    """All that the file says of it."""
    text: str
    """The same for people, without the values of variables: these may be keys."""


class McpChange(Record, frozen=True):
    """What becomes of one entry. None is one that is not there."""

    name: str
    scope: McpScope
    folder: Path
    before: McpEntry | None
    after: McpEntry | None


class AgentMcp(Protocol):
    """Where an agent keeps its servers, and its own commands that change them."""

    @property
    def scopes(self) -> Sequence[McpScope]:
        """The scopes that it knows; where several have a name, an entry of the first counts."""
        ...

    @property
    def hands_on_all(self) -> bool:
        """True when servers get the whole environment of the agent."""
        ...

    def entry(self, name: str, scope: McpScope, folder: Path) -> McpEntry | None:
        """What is there. Raises `ConfigError` when the file cannot be read."""
        ...

    def planned(self, name: str, scope: McpScope, folder: Path, server: McpServer) -> McpEntry:
        """What would be there; what else the person set for this name stays."""
        ...

    def plug_in(self, name: str) -> str | None:
        """The plug-in of this name that is turned on: it brings a server of its own."""
        ...

    def commands(self, change: McpChange) -> Sequence[Sequence[str]]:
        """What will be run, with the values of variables left out."""
        ...

    def carry_out(self, change: McpChange) -> None:
        """Have the agent's own program do it. Raises `External` when it refuses."""
        ...


@runtime_checkable
class HasMcp(Protocol):
    """The agent can ask MCP servers for tools."""

    @property
    def mcp_servers(self) -> AgentMcp: ...
