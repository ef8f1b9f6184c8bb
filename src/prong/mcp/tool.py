"""A tool: what a client is told of it, and what is done when it is called."""

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
    """What a tool does to the world."""

    READS = "reads"
    WRITES = "writes"
    """It makes something new, and changes nothing that was there."""
    ENDS = "ends"


class Call:
    """One call of a tool: who calls, and where the work is done."""

    def __init__(self, desk: Desk, caller: Caller, progress: Progress) -> None:
        self._desk = desk
        self._caller = caller
        self.progress = progress

    async def search(self, act: Callable[[App], T]) -> T:
        return await self.progress.during(self._desk.search(act))

    async def do(self, act: Callable[[App], T]) -> T:
        return await self.progress.during(self._desk.call(act))

    def own(self, app: App) -> SessionRef | None:
        """The session that calls; None when nobody knows."""
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
    """What it answers is for the user to type: commands stay commands."""
    shown: bool = False
    """From the start, to the model of Claude Code, which must search for the other tools."""

    @property
    def writes(self) -> bool:
        return self.effect is not Effect.READS

    @cached_property
    def described(self) -> Description:
        """For the list of tools; made when that is asked for.

        Without the schema of its answers: all clients take them without it, and an agent pays for
        every word of it in every session. `docs/reference/mcp.md` has the fields.
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
                # What a worker is asked to do, it does out there.
                open_world_hint=self.writes,
            ),
            _meta={_ALWAYS_LOAD: True} if self.shown else None,
        )
