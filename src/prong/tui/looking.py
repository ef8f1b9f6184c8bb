"""Loading previews of the selected entry."""

import asyncio
from collections.abc import Callable
from functools import partial

from prong.threads import Lane, Newest
from prong.tui.content import preview
from prong.tui.content.preview import Preview, Reader
from prong.tui.widgets.rows import ListEntry

RESTED = 0.06
"""Seconds that the cursor rests on an entry before it is read."""


class Looking:
    """Preview loader that reads only the selected entry and drops outdated results."""

    def __init__(self, lane: Lane, chosen: Callable[[], ListEntry | None]) -> None:
        """`chosen` returns the selected entry."""
        self._newest = Newest(lane)
        self._chosen = chosen

    async def at(self, read: Reader) -> Preview | None:
        """Read a preview of the selected entry; None if the selection changed meanwhile."""
        entry = self._chosen()
        await asyncio.sleep(RESTED)
        content = await self._newest.ask(partial(preview.attempt, read=read))
        # The list may have been refilled, so compare keys.
        now = self._chosen()
        return content if entry is not None and now is not None and now.key == entry.key else None
