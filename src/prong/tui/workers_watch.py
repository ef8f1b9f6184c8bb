"""What workers do, looked at again and again while somebody wants to know."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from textual.screen import Screen
from textual.worker import Worker

from prong.errors import ProngError
from prong.model.workers import WorkerStatus
from prong.threads import Lane

_EVERY = 1.0
"""Seconds from the end of one look to the next."""


class WorkersWatch:
    """Never two looks at a time: the next one begins when this one is done."""

    def __init__(
        self,
        lane: Lane,
        seen: Callable[[list[WorkerStatus]], None],
        failed: Callable[[ProngError | OSError], None],
    ) -> None:
        """`failed` hears of an error once, however often it comes in a row."""
        self._lane = lane
        self._seen = seen
        self._failed = failed
        self._told = ""
        self._again = asyncio.Event()
        self._looking: Worker[None] | None = None

    def begin(self, screen: Screen[None]) -> None:
        """Look as long as this screen is the one that is seen."""
        self._looking = screen.run_worker(
            self._run, group="watch", exclusive=True, exit_on_error=False
        )

    def end(self) -> None:
        if self._looking is not None:
            self._looking.cancel()

    def again(self) -> None:
        """Look now, not in a moment: something was done."""
        self._again.set()

    async def _run(self) -> None:
        """Until it is cancelled."""
        while True:
            self._again.clear()
            await self._look()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._again.wait(), _EVERY)

    async def _look(self) -> None:
        try:
            found = await self._lane.do(lambda app: app.workers.all())
        except (ProngError, OSError) as error:
            if str(error) != self._told:
                self._told = str(error)
                self._failed(error)
            return
        self._told = ""
        self._seen(found)
