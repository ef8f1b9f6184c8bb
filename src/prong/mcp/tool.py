"""MCP tool definitions, and the context of a call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

from mcp.types import Tool as Description
from mcp.types import ToolAnnotations

from prong.app import App
from prong.mcp.caller import Caller
from prong.mcp.progress import Progress
from prong.mcp.schemas import input_schema
from prong.model.record import Record
from prong.model.sessions import SessionRef
from prong.threads import Desk

T = TypeVar("T")
_ALWAYS_LOAD = "anthropic/alwaysLoad"


class Effect(StrEnum):
    """The effect of a tool."""

    READS = "reads"
    WRITES = "writes"
    """Creates something new and changes nothing that exists."""
    ENDS = "ends"


class Call:
    """A tool call: who calls, and where the work runs."""

    def __init__(self, desk: Desk, caller: Caller, progress: Progress) -> None:
        self._desk = desk
        self._caller = caller
        self.progress = progress

    async def search(self, act: Callable[[App], T]) -> T:
        return await self.progress.during(self._desk.search(act))

    async def do(self, act: Callable[[App], T]) -> T:
        return await self.progress.during(self._desk.call(act))

    def own(self, app: App) -> SessionRef | None:
        """Return the calling session; None if it is unknown."""
        return self._caller.session(app)


class McpTool(Record, frozen=True, dict=True):
    name: str
    title: str
    description: str
    arguments: type[Record]
    result: type[Record]
    effect: Effect
    run: Callable[[Call, Any], Awaitable[Record]]
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
            input_schema=input_schema(self.arguments),
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
