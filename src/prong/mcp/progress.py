"""Progress reports to an MCP client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import Protocol, TypeVar

from prong.redaction.visible import safe

T = TypeVar("T")

_TOLD_EVERY = 0.5
"""Seconds between reports."""


class CanTell(Protocol):
    """A client that accepts progress reports."""

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None: ...


class Progress:
    """Reports to a client during a call. Progress is elapsed seconds, because it must grow."""

    def __init__(self, client: CanTell) -> None:
        self._client = client
        self._begun = time.monotonic()
        self._message: str | None = None
        self._told: str | None = None

    def say(self, message: str) -> None:
        """Set the message, from any thread. Only the latest is sent."""
        self._message = safe(message)

    async def during(self, work: Awaitable[T]) -> T:
        """Await the work and report progress meanwhile."""
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({task}, timeout=_TOLD_EVERY))[0]:
                await self._tell()
            return task.result()
        finally:
            task.cancel()  # if the client cancelled the call

    async def _tell(self) -> None:
        if self._message != self._told:
            self._told = self._message
            seconds = round(time.monotonic() - self._begun, 1)
            await self._client.report_progress(seconds, None, self._message)
