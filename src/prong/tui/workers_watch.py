"""Periodic refresh of worker statuses while a screen is visible."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from textual.screen import Screen
from textual.worker import Worker

from prong.errors import ProngError
from prong.model.workers import WorkerStatus
from prong.threads import Lane

_EVERY = 1.0
"""Seconds from the end of one refresh to the next."""


class WorkersWatch:
    """Poller of worker statuses that never runs two polls at a time."""

    def __init__(
        self,
        lane: Lane,
        seen: Callable[[list[WorkerStatus]], None],
        failed: Callable[[ProngError | OSError], None],
    ) -> None:
        """`failed` is called only once for the same error in a row."""
        self._lane = lane
        self._seen = seen
        self._failed = failed
        self._told = ""
        self._again = asyncio.Event()
        self._looking: Worker[None] | None = None

    def begin(self, screen: Screen[None]) -> None:
        self._looking = screen.run_worker(
            self._run, group="watch", exclusive=True, exit_on_error=False
        )

    def end(self) -> None:
        if self._looking is not None:
            self._looking.cancel()

    def again(self) -> None:
        """Poll now, because something was done."""
        self._again.set()

    async def _run(self) -> None:
        while True:
            self._again.clear()
            try:
                statuses = await self._lane.do(lambda app: app.workers.states.all())
            except (ProngError, OSError) as error:
                if str(error) != self._told:
                    self._told = str(error)
                    self._failed(error)
            else:
                self._told = ""
                self._seen(statuses)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._again.wait(), _EVERY)
