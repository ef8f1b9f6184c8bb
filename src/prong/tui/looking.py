"""Reading what the cursor rests on, for the page beside a list."""

import asyncio
from collections.abc import Callable
from functools import partial

from prong.threads import Lane, Newest
from prong.tui.content import preview
from prong.tui.content.preview import Preview, Reader
from prong.tui.widgets.rows import ListEntry

RESTED = 0.06
"""Seconds that the cursor stays on an entry before it is read."""


class Looking:
    """Only what the cursor is on now is read, and none that it was on before is shown."""

    def __init__(self, lane: Lane, chosen: Callable[[], ListEntry | None]) -> None:
        """`chosen` gives the entry that the cursor is on."""
        self._newest = Newest(lane)
        self._chosen = chosen

    async def at(self, read: Reader) -> Preview | None:
        """What is read of the chosen entry; None when the cursor has gone on meanwhile."""
        entry = self._chosen()
        await asyncio.sleep(RESTED)
        seen = await self._newest.ask(partial(preview.attempt, read=read))
        # The same entry may be another object by now.
        now = self._chosen()
        return seen if entry is not None and now is not None and now.key == entry.key else None
