"""What a client is told while it waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import Protocol, TypeVar

from prong.redaction.visible import safe

T = TypeVar("T")

_TOLD_EVERY = 0.5
"""Seconds."""


class CanTell(Protocol):
    """A client that wants to know how far a call is."""

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None: ...


class Progress:
    """What a client is told while it waits. The number is that of seconds: it always grows."""

    def __init__(self, client: CanTell) -> None:
        self._client = client
        self._begun = time.monotonic()
        self._message: str | None = None
        self._told: str | None = None

    def say(self, message: str) -> None:
        """From any thread; what is said in between is left out."""
        self._message = safe(message)

    async def during(self, work: Awaitable[T]) -> T:
        """Do it, and tell the client meanwhile."""
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({task}, timeout=_TOLD_EVERY))[0]:
                await self._tell()
            return task.result()
        finally:
            task.cancel()  # of a call that the client gave up

    async def _tell(self) -> None:
        if self._message != self._told:
            self._told = self._message
            seconds = round(time.monotonic() - self._begun, 1)
            await self._client.report_progress(seconds, None, self._message)
