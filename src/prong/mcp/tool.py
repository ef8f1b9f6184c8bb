"""MCP tool definitions."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import cached_property
from typing import Any, get_type_hints

from mcp.types import Tool as Description
from mcp.types import ToolAnnotations

from prong.mcp.call import Call
from prong.mcp.schemas import schema_of
from prong.model.record import Record

_ALWAYS_LOAD = "anthropic/alwaysLoad"


class Effect(StrEnum):
    """The effect of a tool."""

    READS = "reads"
    WRITES = "writes"
    """Creates something new and changes nothing that exists."""
    ENDS = "ends"


class McpTool(Record, frozen=True, dict=True):
    name: str
    title: str
    description: str
    arguments: type[Record]
    result: type[Record]
    effect: Effect
    run: Callable[[Call, Any], Record]
    idempotent: bool = False
    for_user: bool = False
    """The result is for the user to type, so command names are not rewritten."""
    shown: bool = False
    """Load it at once: Claude Code's model has to search for other tools."""

    @property
    def writes(self) -> bool:
        return self.effect is not Effect.READS

    @cached_property
    def described(self) -> Description:
        """Describe the tool for `tools/list`.

        The schema of results is left out: every client works without it, and agents would pay for
        its tokens in every session. `docs/reference/mcp.md` lists the fields.
        """
        return Description(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=schema_of(self.arguments),
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=not self.writes,
                destructive_hint=self.effect is Effect.ENDS,
                idempotent_hint=self.idempotent or not self.writes,
                # A worker's task may have effects anywhere.
                open_world_hint=self.writes,
            ),
            _meta={_ALWAYS_LOAD: True} if self.shown else None,
        )


def tool(
    title: str,
    description: str,
    effect: Effect,
    *,
    idempotent: bool = False,
    for_user: bool = False,
    shown: bool = False,
) -> Callable[[Callable[[Call, Any], Record]], McpTool]:
    """Make a tool of a function of a call and its arguments, by its name and its types."""

    def made(run: Callable[[Call, Any], Record]) -> McpTool:
        _, arguments, result = get_type_hints(run).values()
        name = run.__name__
        options = (idempotent, for_user, shown)
        return McpTool(name, title, description, arguments, result, effect, run, *options)

    return made
